import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

from keras_bert.metrics import multi_label_scores

GENERATOR = np.random.default_rng(1)
LABELS = GENERATOR.integers(0, 2, (60, 5))
PREDICTIONS = np.where(GENERATOR.random((60, 5)) < 0.7, LABELS, 1 - LABELS)


def test_scores_are_scikit_learns():
    scores = multi_label_scores(LABELS, PREDICTIONS.astype(bool))
    assert scores == {
        "accuracy": pytest.approx(1 - hamming_loss(LABELS, PREDICTIONS)),
        "exact_match": pytest.approx(accuracy_score(LABELS, PREDICTIONS)),
        "micro_f1": pytest.approx(f1_score(LABELS, PREDICTIONS, average="micro")),
        "macro_f1": pytest.approx(f1_score(LABELS, PREDICTIONS, average="macro")),
    }
    assert len(set(scores.values())) == 4


def test_one_label_is_scored_as_that_label():
    scores = multi_label_scores(LABELS[:, :1], PREDICTIONS[:, :1])
    expected = f1_score(LABELS[:, 0], PREDICTIONS[:, 0])
    assert scores["micro_f1"] == scores["macro_f1"] == pytest.approx(expected)


def test_labels_that_never_occur_count_nothing():
    scores = multi_label_scores([[1, 0], [0, 0]], [[1, 0], [0, 0]])
    assert scores == {"accuracy": 1, "exact_match": 1, "micro_f1": 1, "macro_f1": 0.5}


@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        ([[1, 0]], [[1]], r"shapes \(1, 2\) and \(1, 1\)"),
        ([1, 0], [1, 0], r"\[n, C\]"),
        ([[1, 0]], [[0.7, 0.1]], "predictions must be 0 or 1.* got 0.7"),
    ],
)
def test_what_are_no_labels_is_refused(labels, predictions, message):
    with pytest.raises(ValueError, match=message):
        multi_label_scores(labels, predictions)
