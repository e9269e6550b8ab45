"""Scores of predicted labels: classes, sets of classes, or numbers."""

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite, check_values, shown


def classification_scores(
    labels: npt.ArrayLike, predictions: npt.ArrayLike, num_classes: int | None = None
) -> dict[str, float]:
    """Computes accuracy, F1 and Matthews correlation, as GLUE defines them.

    Args:
        labels: `[n]` ints or names, the true classes.
        predictions: `[n]` of the same, the predicted classes.
        num_classes: int, C; by default 2 if there are no classes but 0 and 1.

    Returns:
        A dict of floats: `accuracy`; `f1`, of class 1 if there are two classes, otherwise
        averaged over the classes that occur; `mcc`.

    Raises:
        ValueError: if the arrays are empty or differ in length, or a class is out of range or not
            a whole number.

    Example:
    >>> classification_scores([1, 1, 0, 0], [1, 0, 0, 0])["accuracy"]
    0.75
    """
    labels = np.asarray(labels)
    predictions = np.asarray(predictions)
    _check_classes(labels, predictions, num_classes)
    classes, indices = np.unique([labels, predictions], return_inverse=True)  # [C]
    true, predicted = indices.reshape(2, -1)
    is_right = true == predicted
    num_occurring = len(classes)
    num_true = np.bincount(true, minlength=num_occurring)
    num_predicted = np.bincount(predicted, minlength=num_occurring)
    num_right = np.bincount(true[is_right], minlength=num_occurring)
    f1_of_classes = _f1(num_right, num_true, num_predicted)
    if num_classes in (None, 2) and set(classes.tolist()) <= {0, 1}:
        f1 = f1_of_classes[classes == 1].sum()  # 0 if class 1 doesn't occur
    else:
        f1 = f1_of_classes.mean()
    return {
        "accuracy": float(is_right.mean()),
        "f1": float(f1),
        "mcc": _matthews_correlation(num_right, num_true, num_predicted),
    }


def _check_classes(labels, predictions, num_classes):
    are_names = [classes.dtype.kind not in "biuf" for classes in (labels, predictions)]
    is_list = labels.ndim == 1 and labels.shape == predictions.shape and labels.size
    if not is_list or are_names[0] != are_names[1]:
        raise ValueError(
            "Labels and predictions must be [n], one each, and both names or both numbers; got "
            f"{shown(labels.tolist())} and {shown(predictions.tolist())}."
        )
    if are_names[0]:
        return
    highest = np.inf if num_classes is None else num_classes - 1
    for classes in (labels, predictions):
        are_right = (classes >= 0) & (classes <= highest) & (classes % 1 == 0)
        check_values(classes, are_right, f"Classes must be 0 to {highest}, or names")


def _f1(num_right, num_true, num_predicted):
    """Computes F1 from counts, 0 for a class that is neither true nor predicted."""
    total = num_true + num_predicted
    return 2 * num_right / np.maximum(total, 1)


def _matthews_correlation(num_right, num_true, num_predicted):
    """Computes the correlation of classes from their counts (Gorodkin 2004).

    It is 0 if all labels, or all predictions, are of one class.
    """
    n = float(num_true.sum())
    covariance = n * num_right.sum() - num_true @ num_predicted
    variance_true = n**2 - num_true @ num_true
    variance_predicted = n**2 - num_predicted @ num_predicted
    if not variance_true or not variance_predicted:
        return 0.0
    return float(covariance / np.sqrt(variance_true * variance_predicted))


def multi_label_scores(labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes accuracy and F1 of texts with any number of labels.

    Args:
        labels: `[n, C]` of 0 and 1, the true labels.
        predictions: `[n, C]` of 0 and 1, or bools, the predicted labels.

    Returns:
        A dict of floats: `accuracy` of all n x C decisions; `exact_match`, the fraction of texts
        whose labels are all correct; `micro_f1` of all decisions together; `macro_f1`, the mean of
        the labels' F1, in which a label that is neither true nor predicted counts as 0.

    Raises:
        ValueError: if the arrays are empty, differ in shape, or contain values other than 0 and 1.

    Example:
    >>> multi_label_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]])["accuracy"]
    0.75
    """
    labels = np.asarray(labels)
    predictions = np.asarray(predictions)
    if labels.ndim != 2 or labels.shape != predictions.shape or not labels.size:
        raise ValueError(
            f"Labels and predictions must be [n, C]; got {labels.shape} and {predictions.shape}."
        )
    for array in (labels, predictions):
        check_values(array, np.isin(array, [0, 1]), "Labels must be 0 or 1, [n, C]")
    is_right = labels == predictions
    num_true = np.count_nonzero(labels, axis=0)  # [C]
    num_predicted = np.count_nonzero(predictions, axis=0)
    num_right = np.count_nonzero(labels * predictions, axis=0)
    micro_f1 = _f1(num_right.sum(), num_true.sum(), num_predicted.sum())
    f1_of_labels = _f1(num_right, num_true, num_predicted)
    return {
        "accuracy": float(is_right.mean()),
        "exact_match": float(is_right.all(axis=1).mean()),
        "micro_f1": float(micro_f1),
        "macro_f1": float(f1_of_labels.mean()),
    }


def regression_scores(labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes Pearson and Spearman correlation, as GLUE does for STS-B, and the squared error.

    Args:
        labels: `[n]` floats, the true values; or `[n, C]`, C numbers of each text.
        predictions: floats of the same shape, the predicted values.

    Returns:
        A dict of floats: `pearson`, `spearman` (both 0 if labels or predictions are constant) and
        `mean_squared_error`, each the mean over C numbers.

    Raises:
        ValueError: if the arrays hold fewer than two values, differ in length, or hold NaN.

    Example:
    >>> regression_scores([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["spearman"]
    1.0
    """
    labels = np.asarray(labels, "float64")
    predictions = np.asarray(predictions, "float64")
    is_table = labels.ndim in (1, 2) and 0 not in labels.shape
    are_as_many = labels.size == predictions.size and labels.shape[:1] == predictions.shape[:1]
    if not is_table or len(labels) < 2 or not are_as_many:
        raise ValueError(
            "Correlations need two labels or more, [n], and as many predictions; got "
            f"{labels.shape} and {predictions.shape}."
        )
    check_all_finite("Labels", labels, "Fix them.")
    check_all_finite("Predictions", predictions, "Fix them.")
    labels = labels.reshape(len(labels), -1)  # [n, C]
    predictions = predictions.reshape(labels.shape)
    pearson = []
    spearman = []
    for true, predicted in zip(labels.T, predictions.T, strict=True):
        pearson.append(_correlation(true, predicted))
        spearman.append(_correlation(_ranks(true), _ranks(predicted)))
    errors = labels - predictions
    return {
        "pearson": float(np.mean(pearson)),
        "spearman": float(np.mean(spearman)),
        "mean_squared_error": float(np.mean(errors**2)),
    }


def _correlation(a, b):
    if not np.ptp(a) or not np.ptp(b):
        return 0.0
    return np.corrcoef(a, b)[0, 1]


def _ranks(values):
    """Ranks values from 1; equal values share the mean of their ranks."""
    _, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    mean_ranks = last_ranks - (counts - 1) / 2
    return mean_ranks[indices]
