"""Calibration: the error of probabilities, and the temperature and threshold that suit labels."""

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_int, shown


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
    labels, probabilities = np.asarray(labels), np.asarray(probabilities, "float64")
    fits = probabilities.ndim == 2 and labels.shape == probabilities.shape[:1] and labels.size
    are_classes = fits and np.isin(labels, np.arange(probabilities.shape[1])).all()
    if not are_classes or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError(
            "Labels must be class numbers, [n], and probabilities 0 to 1, [n, C]; got "
            f"{shown(labels)} and {shown(probabilities)}."
        )
    confidence = probabilities.max(axis=1)
    edges = np.linspace(0, 1, num_bins + 1)[1:-1]
    bins = np.digitize(confidence, edges, right=True)  # edge < confidence <= next edge
    differences = (probabilities.argmax(axis=1) == labels) - confidence
    return float(np.abs(np.bincount(bins, differences)).sum() / len(labels))


def best_temperature(labels: np.ndarray, logits: np.ndarray) -> float:
    """Finds the T for which `logits / T`, `[n, C]`, give labels `[n]` the highest likelihood."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    logits, rows = logits.astype("float64"), np.arange(len(labels))
    is_no_guess = logits[rows, labels].mean() > logits.mean()
    if (logits.argmax(axis=1) == labels).all() or not is_no_guess:
        raise ValueError(
            f"No temperature fits {len(labels):,} predictions that are all right, or no better "
            "than chance. Give more examples, on which the model was not trained."
        )

    def loss(log_temperature):
        return -log_softmax(logits / np.exp(log_temperature), axis=1)[rows, labels].mean()

    return float(np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded").x))


def best_threshold(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Finds the threshold of probabilities `[n]` with the best F1 of labels `[n]`, 0 and 1.

    It lies halfway between two probabilities, as near to 0.5 as possible.
    """
    if not labels.any():
        raise ValueError("F1 needs examples of its class; there are none among the labels.")
    order = np.argsort(-probabilities, kind="stable")
    high = probabilities[order].astype("float64")
    low = np.append(high[1:], 0)
    f1 = 2 * np.cumsum(labels[order]) / (np.arange(1, len(order) + 1) + labels.sum())
    f1[high == low] = -1  # no threshold lies between them
    thresholds = (high + low) / 2
    return float(thresholds[np.lexsort((np.abs(thresholds - 0.5), -f1))[0]])
