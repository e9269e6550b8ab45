import numpy as np
import pytest
import tensorflow as tf

from keras_bert import Batching, BertMultipleChoicePreprocessor
from keras_bert.scoring.label_scorers import ChoiceScorer

QUESTIONS = [
    {"context": "a b", "choices": ["c", "d e"], "label": 1},
    {"context": "f", "choices": ["g", "h", "i"], "label": 0},
]


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertMultipleChoicePreprocessor(tokenizer, sequence_length=14)


def test_buckets_count_the_tokens_of_all_choices(preprocessor):
    long = {"context": "a " * 20, "choices": ["b", "c", "d", "e", "f"], "label": 0}
    short = {"context": "a", "choices": ["b", "c d"], "label": 0}
    rows = preprocessor.read([long] * 35 + [short] * 5, with_labels=True)
    options = {"bucket_lengths": (8, 14), "tokens_per_batch": 5 * 14 * 3}
    data = preprocessor.batched(rows, Batching(1, shuffle=True, seed=3, **options))
    shapes = [inputs["token_ids"].shape for inputs, _ in data]
    assert {shape[1:] for shape in shapes} == {(5, 8), (5, 14)}
    assert max(np.prod(shape) for shape in shapes) == 5 * 14 * 3
    assert sum(shape[0] for shape in shapes) == 40 and len(shapes) == len(data)


def test_labels_are_in_the_questions_or_in_y(preprocessor):
    without = [{name: q[name] for name in ("context", "choices")} for q in QUESTIONS]
    [(_, labels)] = preprocessor.batches(QUESTIONS)
    [(_, given)] = preprocessor.batches(without, [1, 0])
    assert labels.tolist() == given.tolist() == [1, 0]
    with pytest.raises(ValueError, match="question 0 .*got None"):
        preprocessor.batches(without)
    with pytest.raises(ValueError, match="have no weights: leave sample_weight out"):
        preprocessor.batches(QUESTIONS, sample_weight=[1, 2])
    with pytest.raises(ValueError, match="2 questions but 1 labels: give one for each"):
        preprocessor.batches(without, [1])
    assert isinstance(preprocessor.batches(without, with_labels=False)[0], dict)


def test_one_question_is_one_and_many_are_cut_into_parts(preprocessor):
    assert list(preprocessor.parts(QUESTIONS[0])) == [QUESTIONS[:1]]
    assert [*map(len, preprocessor.parts(QUESTIONS * 3, size=4))] == [4, 2]
    assert preprocessor.read(QUESTIONS[0]).num_sequences == len(QUESTIONS[0]["choices"])


def test_the_answer_is_the_most_probable_choice(assert_close, preprocessor):
    logits = np.array([[1, 3, -1e9], [2, 0, 1]], "float32")
    found = preprocessor.answers(logits, preprocessor.read(QUESTIONS))
    assert found["label"].tolist() == [1, 0] and found["choice"] == ["d e", "g"]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert_close(found["probabilities"], [probabilities[0, :2], probabilities[1]])
    prepared = preprocessor.answers(logits)
    assert "choice" not in prepared and prepared["probabilities"].shape == (2, 3)


def test_scores_are_the_accuracy(preprocessor):
    answers = [{"label": 1}, {"label": 2}]
    assert ChoiceScorer(preprocessor).score(answers, QUESTIONS) == {"accuracy": 0.5}
    assert ChoiceScorer(preprocessor).score(answers, QUESTIONS, [1, 2]) == {"accuracy": 1}


@pytest.mark.parametrize("x", ["a b", ["a", "b"], tf.data.Dataset.from_tensors("a"), np.array("a")])
def test_whole_texts_are_refused(preprocessor, x):
    with pytest.raises(ValueError, match="number 0 is"):
        preprocessor.read(x)
