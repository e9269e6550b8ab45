"""Calibration of probabilities: its error, the temperature that corrects it, and thresholds."""

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite, check_int, shown


def expected_calibration_error(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, num_bins: int = 15
) -> float:
    """Computes the mean difference between confidence and accuracy.

    Predictions are put in bins of equal width by their confidence, the probability of the most
    probable class. The differences of the bins are weighted by their numbers of predictions.
    Source: Guo et al. 2017, equation 3.

    Args:
        labels: `[n]` class numbers; or `[n, C]` of 0 and 1, whose n x C decisions count alike.
        probabilities: `[n, C]` floats from 0 to 1.
        num_bins: int, the number of bins.

    Returns:
        A float from 0 to 1; 0 is perfect.

    Raises:
        ValueError: if the shapes don't fit, or a label or probability is out of range.

    Example:
    >>> probabilities = [[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.3, 0.7]]
    >>> round(expected_calibration_error([0, 1, 1, 1], probabilities), 3)  # (.4 + .3) / 2
    0.35
    """
    check_int("num_bins", num_bins)
    probabilities = np.asarray(probabilities, "float64")
    if probabilities.size and not 0 <= probabilities.min() <= probabilities.max() <= 1:
        raise ValueError(f"Probabilities are 0 to 1; got {probabilities.max()}: logits, perhaps.")
    labels, probabilities = _choices(labels, 1 - probabilities, probabilities)
    confidence = probabilities.max(axis=-1)
    edges = np.linspace(0, 1, num_bins + 1)[1:-1]
    bins = np.digitize(confidence, edges, right=True)  # edge < confidence <= next edge
    differences = (probabilities.argmax(axis=-1) == labels) - confidence
    return float(np.abs(np.bincount(bins, differences)).sum() / len(labels))


def best_temperature(labels: npt.ArrayLike, logits: npt.ArrayLike) -> float:
    """Finds the temperature T for which `logits / T` give labels the highest likelihood.

    Labels and logits are as in `expected_calibration_error`. The negative log-likelihood is convex
    in 1 / T, so the root of its slope is its minimum. Source: Guo et al. 2017, section 4.2.

    >>> round(best_temperature([0, 0, 0, 1], [[4.0, 0.0]] * 4), 3)  # 4 / log(3)
    3.641
    """
    from scipy.optimize import brentq

    logits = np.asarray(logits, "float64")
    check_all_finite("Logits", logits, "Train again with a lower learning rate.")
    labels, logits = _choices(labels, 0 * logits, logits)
    logits = logits - logits.max(axis=-1, keepdims=True)
    of_labels = np.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]

    def slope(log_scale):
        weights = np.exp(np.exp(log_scale) * logits)
        expected = (weights * logits).sum(axis=-1) / weights.sum(axis=-1)
        return (expected - of_labels).mean()

    if not slope(-10) < 0 < slope(10):
        raise ValueError(
            f"No temperature fits: the {len(labels):,} predictions are all right, or no better "
            "than chance. Give more examples, on which the model was not trained."
        )
    return float(np.exp(-brentq(slope, -10, 10)))


def best_threshold(labels: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Finds the threshold of probabilities `[m]` with the best F1 of labels `[m]`, 0 and 1.

    It lies halfway between two probabilities; of equally good ones, it is the nearest to 0.5.

    >>> best_threshold([1, 0, 1, 0], [0.75, 0.5, 0.25, 0.0])
    0.125
    """
    order = np.argsort(-np.asarray(probabilities, "float64"), kind="stable")
    labels = np.asarray(labels)[order]
    if not labels.any():
        raise ValueError("F1 needs examples of its class; there are none among the labels.")
    probabilities = np.append(np.asarray(probabilities, "float64")[order], 0)
    f1 = 2 * np.cumsum(labels) / (np.arange(1, len(labels) + 1) + labels.sum())
    thresholds = (probabilities[:-1] + probabilities[1:]) / 2
    f1[probabilities[:-1] == probabilities[1:]] = -1  # equal ones can't be separated
    return float(thresholds[np.lexsort((np.abs(thresholds - 0.5), -f1))[0]])


def _choices(labels, first, second):
    """Returns class numbers `[n]` and values of classes `[n, C]`.

    Labels `[n, C]` become n x C choices between `first`, for 0, and `second`, for 1.
    """
    labels, values = np.asarray(labels), second
    fits = labels.size and values.ndim == 2 and labels.shape in (values.shape, values.shape[:1])
    if fits and labels.ndim == 2:
        labels, values = labels.reshape(-1), np.stack([first, second], -1).reshape(-1, 2)
    if not fits or not np.isin(labels, np.arange(values.shape[-1])).all():
        raise ValueError(
            f"Labels for values of shape {second.shape} must be class numbers, [n], or 0 and 1, "
            f"[n, C]; got {shown(labels)}."
        )
    return labels.astype("int64"), values
