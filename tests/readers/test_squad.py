import json

import pytest

from keras_bert.readers import read_squad
from keras_bert.readers.squad import CONTRADICTORY, MISPLACED, UNANSWERED, training_answer


@pytest.fixture
def write(tmp_path):
    """Writes a file of one paragraph with these questions."""

    def write(*questions, context="It is a book."):
        path = tmp_path / "squad.json"
        paragraphs = [{"context": context, "qas": questions}]
        path.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}))
        return path

    return write


def question(id_, *answers, **more):
    answers = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": id_, "question": "What?", "answers": answers, **more}


def test_questions_come_with_their_context_and_answers(write):
    [example] = read_squad(write(question("1", ("a book", 6), ("book", 8))))
    article = {"title": "T", "context": "It is a book."}
    assert example == question("1", ("a book", 6), ("book", 8), **article)
    assert training_answer(example) == (6, 12)


def test_irregularities_are_counted_logged_and_not_trained_on(write, caplog):
    spans, questions = zip(  # what is trained on
        (None, question("misplaced", ("a book", 5))),
        (None, question("outside", ("a book", -6), ("a book", 99))),
        ((8, 12), question("one of two", ("book", 0), ("book", 8))),
        (None, question("none", is_impossible=False)),
        ((0, 0), question("empty")),
        (
            (0, 0),
            question("impossible", is_impossible=True, plausible_answers=[{"text": "a"}]),
        ),
        ((0, 0), question("both", ("book", 8), is_impossible=True)),
        (None, question("blank", (" ", 2))),
        ((6, 12), question("spaces", (" a book", 5))),
        strict=True,
    )
    examples = read_squad(write(*questions))
    assert [*map(training_answer, examples)] == [*spans]
    assert "9 questions, 3 impossible" in repr(examples)
    reports = examples.reports.as_dict()
    counts = {kind: entry["count"] for kind, entry in reports.items()}
    assert counts == {MISPLACED: 5, UNANSWERED: 1, CONTRADICTORY: 1}
    assert "question misplaced" in reports[MISPLACED]["examples"]
    assert "5 answers that are not at their answer_start" in caplog.text


def test_other_files_are_refused_with_the_place(tmp_path, refused):
    path = tmp_path / "squad.json"
    for content, message in (
        ('{"data": [\n}', r"squad.json is not JSON.*line 2"),
        ('{"data": ' * 99_999, r"squad.json is not JSON.*recursion"),
        ("[1, 2]", r"is JSON, but not SQuAD's.*got \[1, 2\]"),
        ('{"data": []}', "has no questions"),
        ('{"data": [{"title": "T"}]}', r"data\[0\].paragraphs must be given"),
    ):
        path.write_text(content)
        refused(message, read_squad, path)


def test_other_values_are_refused_with_the_place(write, refused):
    large = 12345
    for questions, context, message in (
        ([], 5, r"data\[0\].paragraphs\[0\].context must be a string; got 5"),
        (
            [question("1", ("a", "0"))],
            "",
            r"qas\[0\].answers\[0\].answer_start must be.*got '0'",
        ),
        ([question("1")] * 2, "", r"qas\[1\]: the id '1' occurs twice"),
        ([question("\ud800")], "", "id must be a text, without"),
        ([question("1", ("a", large))], "", r"squad\.json.*digits"),
    ):
        path = write(*questions, context=context)
        path.write_text(path.read_text().replace(str(large), "9" * 5000))
        refused(message, read_squad, path)


@pytest.mark.shared
def test_the_official_file_of_squad_2(shared_data):
    examples = read_squad(shared_data / "squad" / "dev-v2.0-part.json")
    assert len(examples) == 5921 and not examples.reports.as_dict()
    assert sum(example["is_impossible"] for example in examples) == 2875
    assert all(training_answer(example) is not None for example in examples)
