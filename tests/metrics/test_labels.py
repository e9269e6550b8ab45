import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, matthews_corrcoef

from keras_bert.metrics.labels import classification_scores, multi_label_scores, regression_scores

GENERATOR = np.random.default_rng(1)
LABELS = GENERATOR.integers(0, 2, (60, 5))
PREDICTIONS = np.where(GENERATOR.random((60, 5)) < 0.7, LABELS, 1 - LABELS)


def test_scores_of_classes_are_scikit_learns():
    for most, average in ((1, "binary"), (2, "macro")):
        labels, predictions = GENERATOR.integers(0, most + 1, (2, 60))
        assert classification_scores(labels, predictions) == {
            "accuracy": pytest.approx(np.mean(labels == predictions)),
            "f1": pytest.approx(f1_score(labels, predictions, average=average)),
            "mcc": pytest.approx(matthews_corrcoef(labels, predictions)),
        }
        names = np.array(["a", "b", "c"])
        found = classification_scores(names[labels], names[predictions])
        assert found == classification_scores(labels, predictions, num_classes=3)


def test_one_class_for_all_has_no_correlation_and_no_warning(recwarn):
    expected = {"accuracy": pytest.approx(2 / 3), "f1": 0.0, "mcc": 0.0}
    assert classification_scores([0, 1, 0], [0, 0, 0]) == expected
    assert classification_scores([1, 1], [1, 1]) == {"accuracy": 1.0, "f1": 1.0, "mcc": 0.0}
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
        assert multi_label_scores(labels, predictions.astype(bool)) == {
            "accuracy": pytest.approx(1 - hamming_loss(labels, predictions)),
            "exact_match": pytest.approx(accuracy_score(labels, predictions)),
            "micro_f1": pytest.approx(f1_score(labels.ravel(), predictions.ravel())),
            "macro_f1": pytest.approx(
                np.mean([f1_score(*each) for each in zip(labels.T, predictions.T, strict=True)])
            ),
        }
    absent = multi_label_scores([[1, 0], [0, 0]], [[1, 0], [0, 0]])
    assert absent == {"accuracy": 1, "exact_match": 1, "micro_f1": 1, "macro_f1": 0.5}


def test_correlations_are_scipys_also_of_equal_values():
    labels, predictions = GENERATOR.integers(0, 5, (2, 40)) / 2
    scores = regression_scores(labels, predictions)
    assert scores["pearson"] == pytest.approx(pearsonr(labels, predictions).statistic)
    assert scores["spearman"] == pytest.approx(spearmanr(labels, predictions).statistic)
    assert scores["mean_squared_error"] == pytest.approx(np.mean((labels - predictions) ** 2))
