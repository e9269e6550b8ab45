import numpy as np
import pytest
import tensorflow as tf

from keras_bert import Batching, BertClassifierPreprocessor
from keras_bert.scoring.label_scorers import ClassScorer

NAMES = ["bad", "fine", "good"]
LOGITS = np.array([[1, 3, 2], [0, -1, -2]], "float32")
TEXTS = ["a b c", "", "abcdefghijklmnop" * 2, "d e f g h i j k l m n"]


@pytest.fixture(scope="module")
def make(tokenizer):
    def make(label_names=NAMES, **settings):
        return BertClassifierPreprocessor(tokenizer, 8, label_names=label_names, **settings)

    return make


def test_labels_are_trained_on_by_name_and_by_number(make):
    texts, labels = ["a", "b", "c"], ["good", "bad", "fine"]
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels))
    for x, y in ((texts, labels), (texts, [2, 0, 1]), (dataset, None)):
        data = make().batches(x, y, batching=Batching(3, pad_to="full"))
        found = np.concatenate([labels for _, labels in data])
        assert found.tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="Label 1 is 'god'.*Did you mean 'good'"):
        make().batches(texts, ["good", "god", "fine"])


def test_several_labels_and_scores_are_numbers(make):
    several = make(multi_label=True)
    assert several.targets([["good", "bad"], []]).tolist() == [[1, 0, 1], [0, 0, 0]]
    score = make(["score"])
    assert score.is_regression and not several.is_regression and not make().is_regression
    assert score.targets([0.5, -1]).tolist() == [0.5, -1]
    for preprocessor in (several, score):
        with pytest.raises(ValueError, match="must be numbers; the dataset yields strings"):
            preprocessor.stream_targets(tf.constant(["good"]))
    with pytest.raises(ValueError, match="threshold must be below 1; got 1"):
        make(threshold=1)


def test_answers_are_labels_and_probabilities(assert_close, make):
    found = make().answers(LOGITS)
    assert found["label"].tolist() == ["fine", "bad"]
    assert found["labels"].tolist() == [NAMES] * 2
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    assert_close(found["probabilities"], expected)
    found = make(multi_label=True, threshold=0.3).answers(LOGITS)
    assert_close(found["probabilities"], 1 / (1 + np.exp(-LOGITS)))
    assert found["is_label"].tolist() == [[True, True, True], [True, False, False]]
    assert make(["x"]).answers(np.array([[1.5], [2]])).keys() == {"score"}


@pytest.mark.parametrize(("pooling", "pool"), [("mean", np.mean), ("max", np.max)])
def test_logits_of_windows_are_pooled(assert_close, make, pooling, pool):
    preprocessor = make(window_stride=2, window_pooling=pooling)
    assert preprocessor.cuts_windows and preprocessor.signature == {"text": 1}
    rows = preprocessor.read(TEXTS)
    counts = rows.counts
    assert counts[:2].tolist() == [1, 1] and counts.sum() > 6
    logits = np.random.default_rng(0).normal(size=(counts.sum(), 3)).astype("float32")
    found = preprocessor.pooled(logits, rows)
    parts = np.split(logits, np.cumsum(counts)[:-1])
    assert_close(found, np.stack([pool(part, axis=0) for part in parts]))
    assert preprocessor.pooled(logits, None) is logits


def test_a_dataset_of_texts_is_cut_into_the_same_windows(make):
    preprocessor = make(window_stride=3)
    labels = ["good", "bad", "fine", "good"]
    batching = Batching(2, pad_to="longest")
    in_memory = preprocessor.batches(TEXTS, labels, batching=batching)
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, labels))
    streamed = preprocessor.batches(dataset, batching=batching)
    for found, expected in zip(streamed, in_memory, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_scores_suit_the_task(make):
    answers = [{"label": "good"}, {"label": "bad"}]
    assert ClassScorer(make()).score(answers, None, ["good", "fine"])["accuracy"] == 0.5
    several = [{"is_label": np.array([True, False, True])}, {"is_label": np.zeros(3, bool)}]
    scorer = ClassScorer(make(multi_label=True))
    assert scorer.score(several, None, [["good", "bad"], []])["micro_f1"] == 1
    scores = [{"score": 1.0}, {"score": 2.0}, {"score": 4.0}]
    assert ClassScorer(make(["x"])).score(scores, None, [2, 4, 8])["pearson"] == pytest.approx(1)
    with pytest.raises(ValueError, match="scores needs labels: give y"):
        ClassScorer(make()).score(answers, None)
