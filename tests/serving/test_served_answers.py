"""Every task served: the same answers as `answer`, alone and together, here and elsewhere."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.preprocessing.raw import take

CLASSIFIERS = ["classes", "score", "windows", "labels"]
QUESTIONS = ["questions", "questions without answers"]
TASKS = [*CLASSIFIERS, "words", *QUESTIONS, "choices", "documents", "vectors"]
KEYS = {
    "classes": {"probabilities", "label", "labels"},
    "score": {"score"},
    "windows": {"probabilities", "label", "labels"},
    "labels": {"probabilities", "is_label", "labels"},
    "words": {
        *(f"entity_{name}" for name in ("text", "type", "start", "end", "score")),
        *("entity_start_byte", "entity_end_byte", "num_entities"),
    },
    "questions": {"answer", "start", "end", "start_byte", "end_byte", "score", "null_odds"},
    "choices": {"label", "choice", "probabilities"},
    "documents": {"score"},
    "vectors": {"embedding"},
}


@pytest.fixture(scope="module")
def elsewhere(served, answers_elsewhere, tmp_path_factory):
    """Answers of every task's SavedModel in a process where this library is not."""
    asked = {name: (served(name).folder, served(name).columns) for name in TASKS}
    moved = tmp_path_factory.mktemp("elsewhere") / "moved"
    folder, columns = asked["classes"]
    folder.parent.rename(moved)  # a SavedModel may be moved
    asked["classes"] = (moved / "1", columns)
    found = answers_elsewhere(tmp_path_factory.mktemp("asked"), asked)
    moved.rename(folder.parent)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_answers_elsewhere_are_those_of_the_task(served, elsewhere, same_answers, name):
    answers = served(name).answers
    assert set(elsewhere[name]) == KEYS[name.split(" ")[0]]
    same_answers(elsewhere[name], answers)


def test_answers_are_varied_and_well_formed(served):
    names = [answer["label"] for answer in served("classes").answers]
    assert set(names) == {"low", "mid", "high"}
    assert len({answer["label"] for answer in served("windows").answers}) > 1
    flags = np.stack([answer["is_label"] for answer in served("labels").answers])
    assert 0 < flags.mean() < 1
    assert {answer["label"] for answer in served("choices").answers} == {0, 1, 2, 3, 4}
    for name, fewest, most in (("questions", 2, 2), ("questions without answers", 20, 180)):
        none = sum(not answer["answer"] for answer in served(name).answers)
        assert fewest <= none <= most
    assert sum(answer["num_entities"] for answer in served("words").answers) > 500


def test_spans_are_places_in_characters_and_in_bytes(served):
    for question, answer in zip(
        served("questions").examples, served("questions").answers, strict=True
    ):
        text = question["context"]
        assert text[answer["start"] : answer["end"]] == answer["answer"]
        data = text.encode()[answer["start_byte"] : answer["end_byte"]]
        assert data.decode() == answer["answer"]
    for text, answer in zip(served("words").examples, served("words").answers, strict=True):
        for column, found in enumerate(answer["entity_text"]):
            start, end = (answer[f"entity_{name}"][column] for name in ("start", "end"))
            assert text[start:end] == found
            start, end = (answer[f"entity_{name}_byte"][column] for name in ("start", "end"))
            assert text.encode()[start:end].decode() == found


@pytest.mark.parametrize("name", TASKS)
def test_each_example_is_answered_as_if_it_were_alone(served, same_answers, name):
    one = served(name)
    for row in range(8):  # the odd ones, and two others
        alone = take(one.columns, slice(row, row + 1))
        same_answers(one.ask(alone), one.answers[row : row + 1])
    tensors = {key: tf.constant(values)[:0] for key, values in one.columns.items()}
    none = one.signatures["serving_default"](**tensors)
    assert {values.shape[0] for values in none.values()} == {0}


@pytest.mark.parametrize("name", TASKS)
def test_token_ids_have_a_signature_of_their_own(assert_close, served, same_answers, name):
    one = served(name)
    task, examples = one.task, take(one.examples, slice(0, 4))
    x = next(iter(task.preprocessor.batches(examples, with_labels=False)))
    found = one.ask(x, "token_ids")
    outputs = task.predict(x, verbose=0)
    outputs = outputs if isinstance(outputs, dict) else {task.output_name: outputs}
    for key, values in outputs.items():
        assert_close(np.array(found[key]), values)
    answers = task.answer(x)
    assert set(found) == {*outputs, *answers[0]}
    same_answers({key: found[key] for key in answers[0]}, answers)


def test_pairs_are_answered(served, same_answers):
    one = served("classes")
    texts, others = one.examples[:8], one.examples[8:16]
    pairs = [list(pair) for pair in zip(texts, others, strict=True)]
    same_answers(one.ask({"text": pairs}), one.task.answer((texts, others)))
    same_answers(one.ask({"text": pairs[:1]}), one.task.answer((texts[:1], others[:1])))
    one = served("labels")
    features = one.examples["features"][:8]
    x = {"text": (texts, others), "features": features}
    same_answers(one.ask({"text": pairs, "features": features}), one.task.answer(x))


def test_a_choice_of_nothing_keeps_its_place_and_has_no_probability(assert_close, served):
    ask = served("choices").ask
    full = ask({"context": ["a b"], "choices": [["c", "d e", "f"]]})
    gaps = ask({"context": ["a b"], "choices": [["", "c", "", "d e", "f", ""]]})
    assert np.array(gaps["probabilities"])[0, [0, 2, 5]].tolist() == [0, 0, 0]
    shares = np.array(gaps["probabilities"])[0, [1, 3, 4]]
    assert_close(shares, np.array(full["probabilities"][0]), size=10.0)
    assert gaps["choice"] == full["choice"]
    nothing = ask({"context": ["a"], "choices": [["", ""]]})
    assert nothing["probabilities"] == [[0.0, 0.0]] and nothing["choice"] == [""]


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("questions", {"question": ["a", "b"], "context": ["a"]}, "a context of its own"),
        ("choices", {"context": ["a", "b"], "choices": [["a", "b"]]}, "a row of choices"),
        ("windows", {"text": ["a", "b"], "features": [[1.0, 2.0]]}, "give each text its features"),
        ("windows", {"text": ["a"], "features": [[1.0, np.nan]]}, "features must be finite"),
        ("labels", {"text": ["a"], "features": [[1.0, np.inf]]}, "features must be finite"),
        ("classes", {"text": [["a", "b", "c"]]}, "texts or .* pairs"),
    ],
)
def test_requests_that_cannot_be_answered_are_refused(served, name, columns, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        served(name).ask(columns)
