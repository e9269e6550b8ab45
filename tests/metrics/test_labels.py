import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, matthews_corrcoef

from keras_bert.metrics.labels import (
    classification_scores,
    multi_label_scores,
    regression_scores,
)

GENERATOR = np.random.default_rng(1)
LABELS = GENERATOR.integers(0, 2, (60, 5))
PREDICTIONS = np.where(GENERATOR.random((60, 5)) < 0.7, LABELS, 1 - LABELS)


def test_scores_of_classes_are_scikit_learns():
    for most, average in ((1, "binary"), (2, "macro")):
        labels, predictions = GENERATOR.integers(0, most + 1, (2, 60))
        expected = {
            "accuracy": accuracy_score(labels, predictions),
            "f1": f1_score(labels, predictions, average=average),
            "mcc": matthews_corrcoef(labels, predictions),
        }
        assert classification_scores(labels, predictions) == pytest.approx(expected)
        names = np.array(["a", "b", "c"])
        found = classification_scores(names[labels], names[predictions])
        assert found == classification_scores(labels, predictions, num_classes=3)


def test_one_class_for_all_has_no_correlation_and_no_warning(recwarn):
    expected = {"accuracy": 2 / 3, "f1": 0, "mcc": 0}
    for labels in ([0, 1, 0], [0, 0, 0]), ([0, 0, 0], [0, 1, 0]):
        assert classification_scores(*labels) == pytest.approx(expected)
    assert classification_scores([1, 1], [1, 1]) == {"accuracy": 1, "f1": 1, "mcc": 0}
    constant = regression_scores([1, 2, 3], [2, 2, 2])
    assert constant["pearson"] == constant["spearman"] == 0
    assert not recwarn.list


def test_f1_is_over_classes_when_there_are_more_than_occur():
    labels, predictions = [0, 0, 0, 1], [0, 0, 1, 1]
    for num_classes, f1 in ((None, 2 / 3), (2, 2 / 3), (3, (4 / 5 + 2 / 3) / 2)):
        found = classification_scores(labels, predictions, num_classes)["f1"]
        assert found == pytest.approx(f1), num_classes


def test_what_are_no_classes_and_no_labels_is_refused(refused):
    for message, score, *arguments in (
        ("0 to 1, or names; got 2", classification_scores, [0, 2], [0, 1], 2),
        ("got 0.5", classification_scores, [0.5, 1.0], [0.0, 1.0]),
        (r"'bad'\] and \[1", classification_scores, ["good", "bad"], [1, 0]),
        (r"got \[0, 1, 1\] and \[0, 1\]", classification_scores, [0, 1, 1], [0, 1]),
        (r"got \[\] and \[\]", classification_scores, [], []),
        ("0 or 1, .*; got 0.7", multi_label_scores, [[1, 0]], [[0.7, 0.1]]),
        (r"\(1, 2\) and \(2, 1\)", multi_label_scores, [[1, 0]], [[1], [0]]),
        ("two labels or more", regression_scores, [1.0], [2.0]),
        ("as many", regression_scores, np.ones((2, 3)), np.ones((3, 2))),
        ("Predictions must be finite", regression_scores, [1.0, 2], [math.nan, 1]),
    ):
        refused(message, score, *arguments)


def test_scores_of_several_labels_are_scikit_learns():
    for columns in (slice(5), slice(1)):
        labels, predictions = LABELS[:, columns], PREDICTIONS[:, columns]
        pairs = zip(labels.T, predictions.T, strict=True)
        expected = {
            "accuracy": 1 - hamming_loss(labels, predictions),
            "exact_match": accuracy_score(labels, predictions),
            "micro_f1": f1_score(labels.ravel(), predictions.ravel()),
            "macro_f1": np.mean([f1_score(*pair) for pair in pairs]),
        }
        assert multi_label_scores(labels, predictions.astype(bool)) == pytest.approx(expected)
    absent = multi_label_scores([[1, 0], [0, 0]], [[1, 0], [0, 0]])
    assert absent == {"accuracy": 1, "exact_match": 1, "micro_f1": 1, "macro_f1": 0.5}


def test_correlations_are_scipys_also_of_equal_values():
    labels, predictions = GENERATOR.integers(0, 5, (2, 40)) / 2
    assert regression_scores(labels[:, None], predictions) == pytest.approx(
        {
            "pearson": pearsonr(labels, predictions).statistic,
            "spearman": spearmanr(labels, predictions).statistic,
            "mean_squared_error": np.mean((labels - predictions) ** 2),
        }
    )
