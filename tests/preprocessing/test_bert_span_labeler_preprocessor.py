import json

import numpy as np
import pytest

from keras_bert import BertSpanLabelerPreprocessor, BertTokenizer
from keras_bert.preprocessing.question_windows import trained_windows
from keras_bert.scoring.span_scorers import SpanScorer


@pytest.fixture(scope="module")
def preprocessor(vocabulary):
    tokenizer = BertTokenizer([*vocabulary, "cafe"])
    return BertSpanLabelerPreprocessor(tokenizer, sequence_length=12, max_question_length=4)


def example(question, context, *answers, **more):
    answers = [{"text": text, "answer_start": start} for text, start in answers]
    return {"question": question, "context": context, "answers": answers, **more}


def labels_of(preprocessor, examples):
    [labels] = trained_windows(examples, preprocessor).targets
    return list(zip(labels["start"].tolist(), labels["end"].tolist(), strict=True))


def test_a_window_without_the_whole_answer_is_labeled_with_cls(preprocessor):
    long = example("a b", " ".join("cdefghijklmnop"), ("h i j", 10))  # tokens 5, 6 and 7
    preprocessor = preprocessor.like(preprocessor, document_stride=3)
    assert labels_of(preprocessor, [long]) == [(0, 0), (6, 8), (0, 0), (0, 0)]
    assert labels_of(preprocessor, [{**long, "is_impossible": True}]) == [(0, 0)] * 4


def test_an_answer_gets_whole_tokens_whatever_stands_before_it(preprocessor):
    for context, answer, start, tokens in (
        ("b cafe d", "af", 3, (4, 4)),
        ("b cafey d", "y d", 6, (5, 6)),
        ("b \u200b\u00a0 d", "d", 5, (4, 4)),
        ("ééé café d", "café", 4, (6, 6)),  # "e", "##e", "##e" before it
        ("漢字 😀 d", "漢字", 0, (3, 4)),
        ("漢字 😀 d", "d", 5, (6, 6)),
    ):
        assert labels_of(preprocessor, [example("a", context, (answer, start))]) == [tokens]


def test_a_context_of_several_questions_is_tokenized_once(preprocessor):
    examples = [example("a", "b c", ("b", 0)), example("b", "b c", ("c", 2))]
    assert trained_windows(examples, preprocessor).contexts.texts == ["b c"]


def test_examples_without_an_answer_to_train_on_are_left_out(preprocessor, refused, caplog):
    examples = [
        example("a", "b c", ("c", 0)),
        example("a", "b c", ("c", 2)),
        example("a", "b"),
    ]
    # The last one lists none.
    assert labels_of(preprocessor, examples) == [
        (4, 4),
        (0, 0),
    ]
    assert "1 of 3 questions have no answer at its answer_start" in caplog.text
    refused("No question has answers to train on", trained_windows, examples[:1], preprocessor)


def test_prepared_inputs_are_answered_with_logits(preprocessor):
    outputs = {"start": np.ones([2, 12]), "end": np.zeros([2, 12])}
    found = preprocessor.answers(outputs)
    assert found["start_logits"] is outputs["start"] and found["end_logits"] is outputs["end"]


def test_scores_are_those_of_squad(preprocessor, refused):
    possible = example("a", "b c", ("c", 2), id="1")
    examples = [possible, example("a", "b c", is_impossible=True, id="2")]
    answers = [{"answer": "c", "null_odds": -1.0}, {"answer": "b", "null_odds": 1.0}]
    scorer = SpanScorer(preprocessor)
    assert scorer.score(answers[:1], [possible])["exact"] == 100
    found = scorer.score(answers, examples)
    assert (found["exact"], found["best_exact"]) == (50, 100)
    tuned, found = scorer.tuned([{**answers[1], "null_odds": -5}] * 2, examples)
    assert found["exact"] == 50 and tuned.null_threshold < -5  # never to answer is best
    answers[0] |= {"answer": "", "n_best_answer": ["", "c"]}
    found = SpanScorer(tuned).score(answers, examples)
    assert (found["exact"], found["best_exact"]) == (50, 100)
    scorer.check([{**possible, "answers": [{"text": "c"}]}])
    for wrong in ("c", [{"answer_start": 2}]):
        refused("number 0 is", scorer.check, [{**possible, "answers": wrong}])


def test_answers_to_questions_without_an_id_are_written_by_their_places(preprocessor, tmp_path):
    answers = [{"answer": "c", "null_odds": -1.0}, {"answer": "", "null_odds": 1.0}]
    SpanScorer(preprocessor).write(tmp_path, "test", answers, [example("a", "b c")] * 2)
    assert json.loads((tmp_path / "test_predictions.json").read_text()) == {
        "0": "c",
        "1": "",
    }


def test_examples_and_arguments_that_do_not_fit_are_refused(preprocessor, tokenizer, refused):
    right = [example("a", "b", ("b", 0))]
    for message, examples in (
        ("There are no questions", []),
        ("dict of two strings.*number 1 is", [*right, example("a", None)]),
        ("number 0 is 'a b'", ["a b"]),
    ):
        refused(message, preprocessor.listed, examples)
    BertSpanLabelerPreprocessor(tokenizer, 12, max_question_length=8)
    message = "leave no room for a context in sequence_length=12"
    refused(message, BertSpanLabelerPreprocessor, tokenizer, 12, max_question_length=9)
    for apart in ({"y": [0]}, {"sample_weight": [1.0]}):
        refused("leave y and sample_weight out", preprocessor.read, right, **apart)
    rows = preprocessor.read(right)
    refused("n_best must be at least 1; got 0", preprocessor.answers, {}, rows, n_best=0)
