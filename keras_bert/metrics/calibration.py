"""Calibration: the error of probabilities, and the temperature and threshold that suit labels."""

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_int, check_values, logger


def expected_calibration_error(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, num_bins: int = 15
) -> float:
    """Computes the mean difference of confidence, the highest probability, and accuracy.

    Predictions are binned by their confidence, and each one in a bin counts the same.
    Source: Guo et al. 2017, equation 3.

    Args:
        labels: `[n]` ints, class numbers.
        probabilities: `[n, C]` floats from 0 to 1.
        num_bins: int, the number of bins of equal width.

    Returns:
        A float from 0, perfect, to 1.

    Raises:
        ValueError: if the shapes don't fit, or a label or probability is out of range.

    Example:
    >>> probabilities = [[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.3, 0.7]]
    >>> round(expected_calibration_error([0, 1, 1, 1], probabilities), 3)  # (.4 + .3) / 2
    0.35
    """
    check_int("num_bins", num_bins)
    labels = np.asarray(labels)
    probabilities = np.asarray(probabilities, "float64")
    is_right = probabilities.ndim == 2 and labels.shape == probabilities.shape[:1]
    if not is_right or not labels.size:
        raise ValueError(
            f"Labels must be [n], and probabilities [n, C]; got {labels.shape} and "
            f"{probabilities.shape}."
        )
    are_classes = np.isin(labels, range(probabilities.shape[1]))
    check_values(labels, are_classes, "Labels must be class numbers")
    are_in_range = (probabilities >= 0) & (probabilities <= 1)
    check_values(probabilities, are_in_range, "Probabilities must be 0 to 1")
    confidence = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == labels
    edges = np.linspace(0, 1, num_bins + 1)[1:-1]
    bins = np.digitize(confidence, edges, right=True)  # edge < confidence <= next edge
    sums = np.bincount(bins, is_right - confidence)  # of the differences in each bin
    error = np.abs(sums).sum() / len(labels)
    return float(error)


def best_temperature(labels: np.ndarray, logits: np.ndarray) -> float:
    """Finds the T for which `logits / T`, `[n, C]`, give labels `[n]` the highest likelihood.

    It is 1, with a warning, for predictions that are all right or no better than chance.
    """
    logits = logits.astype("float64")
    logits -= logits.max(axis=1, keepdims=True)
    of_labels = logits[np.arange(len(labels)), labels].mean()
    is_all_right = (logits.argmax(axis=1) == labels).all()
    if is_all_right or of_labels <= logits.mean():
        logger.warning(
            "No temperature fits %s predictions that are all right, or no better than chance, so "
            "it stays 1. Give more examples, on which the model was not trained.",
            f"{len(labels):,}",
        )
        return 1.0
    # The derivative of the likelihood is 0 where the model expects the logits of the labels:
    # the mean of a row's logits, weighted by its probabilities, falls as T rises.
    low = -5.0  # of log T
    high = 5.0
    for _ in range(30):  # halves the interval
        middle = (low + high) / 2
        weights = np.exp(logits / np.exp(middle))
        weighted_sums = np.sum(weights * logits, axis=1)
        expected = weighted_sums / np.sum(weights, axis=1)
        if expected.mean() > of_labels:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def best_threshold(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Finds the threshold of probabilities `[n]` with the best F1 of labels `[n]`, 0 and 1.

    It lies halfway between two probabilities, as near to 0.5 as possible.
    """
    if not labels.any():
        raise ValueError("F1 needs examples of its class; there are none among the labels.")
    order = np.argsort(-probabilities, kind="stable")
    high = probabilities[order].astype("float64")
    low = np.append(high[1:], 0)
    num_right = np.cumsum(labels[order])
    num_predicted = np.arange(1, len(order) + 1)
    f1 = 2 * num_right / (num_predicted + labels.sum())
    f1[high == low] = -1  # no threshold lies between them
    thresholds = (high + low) / 2
    best_first = np.lexsort((np.abs(thresholds - 0.5), -f1))
    return float(thresholds[best_first[0]])
