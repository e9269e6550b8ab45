"""The error of calibration by the paper's formula; temperatures and thresholds by search."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import f1_score, log_loss

from keras_bert.metrics.calibration import (
    best_temperature,
    best_threshold,
    expected_calibration_error,
)

GENERATOR = np.random.default_rng(1)
LOGITS = GENERATOR.normal(0, 2, (300, 4))
LABELS = (softmax(LOGITS, axis=1).cumsum(axis=1) < GENERATOR.random((300, 1))).sum(axis=1)


def test_the_error_is_that_of_the_paper():
    probabilities = softmax(1.5 * LOGITS, axis=1)
    probabilities[:9] = [5 / 8, 1 / 8, 1 / 8, 1 / 8]  # near an edge
    probabilities[9:20] = [1 / 2, 1 / 2, 0, 0]  # an edge
    probabilities[20:40] = 1 / 4
    probabilities[40:50] = [1, 0, 0, 0]
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == LABELS
    for num_bins in (1, 4, 15):
        error = 0
        for number in range(num_bins):
            inside = (confidence > number / num_bins) & (confidence <= (number + 1) / num_bins)
            error += abs(right[inside].sum() - confidence[inside].sum()) / 300
        found = expected_calibration_error(LABELS, probabilities, num_bins)
        assert found == pytest.approx(error), num_bins


def test_no_other_temperature_has_a_higher_likelihood(caplog):
    for scale in (0.1, 1, 7):
        temperature = best_temperature(LABELS, scale * LOGITS)
        assert temperature == pytest.approx(scale, rel=0.1)  # LABELS are drawn by softmax(LOGITS)
        best, *others = (
            log_loss(LABELS, softmax(scale * LOGITS / temperature / factor, axis=1))
            for factor in (1, 0.98, 1.02)
        )
        assert best < min(others)
    for labels in (LOGITS.argmax(axis=1), LOGITS.argmin(axis=1)):
        assert best_temperature(labels, LOGITS) == 1
        assert "300 predictions that are all right, or no better" in caplog.messages.pop()


def test_no_other_threshold_has_a_higher_f1():
    labels = LABELS == 1
    for decimals in (1, 6):
        probabilities = softmax(LOGITS, axis=1)[:, 1].round(decimals).astype("float32")
        threshold = best_threshold(labels, probabilities)
        scores = [f1_score(labels, probabilities >= limit) for limit in set(probabilities)]
        assert f1_score(labels, probabilities >= threshold) == max(scores)
        assert not np.isclose(probabilities, threshold, rtol=0, atol=1e-8).any()
    assert best_threshold(np.array([1, 0]), np.array([0.9, 0.0])) == 0.45
    assert best_threshold(np.array([1, 0, 0, 1]), np.array([0.99, 0.91, 0.7, 0.6])) == 0.3


def test_what_are_no_labels_and_probabilities_is_refused(refused):
    for labels, rows, message in (
        ([2], [[0.5, 0.5]], r"class numbers; got 2 at \[0\]"),
        ([0], [[2.0, -1.0]], "0 to 1; got 2.0"),
        ([0, 1], [[0.5, 0.5]], r"\(2,\) and \(1, 2\)"),
    ):
        refused(message, expected_calibration_error, labels, rows)
    refused("none among the labels", best_threshold, np.zeros(2), np.array([0.9, 0.1]))
