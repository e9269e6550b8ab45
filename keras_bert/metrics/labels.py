"""Scores of predicted labels: classes, sets of classes, or numbers."""

import numpy as np
import numpy.typing as npt


def classification_scores(
    labels: npt.ArrayLike, predictions: npt.ArrayLike, num_classes: int | None = None
) -> dict[str, float]:
    """Computes accuracy, F1 and Matthews correlation, as GLUE defines them.

    Args:
        labels: `[n]` ints, the true classes.
        predictions: `[n]` ints, the predicted classes.
        num_classes: int, C; by default one more than the highest class, at least 2.

    Returns:
        A dict of floats: `accuracy`; `f1`, of class 1 if there are two classes, otherwise
        averaged over the classes that occur; `mcc`.

    Raises:
        ValueError: if the arrays are empty, differ in length, or contain a class that is no integer
            or out of range.

    Example:
    >>> classification_scores([1, 1, 0, 0], [1, 0, 0, 0])["accuracy"]
    0.75
    """
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    labels, predictions = _paired_arrays(labels, predictions, "[n]", "class numbers")
    both = np.concatenate([labels, predictions])
    if not np.issubdtype(both.dtype, np.integer):
        wrong = f"{both.dtype}, such as {both[0].item()!r}"
        raise ValueError(f"Classes must be integers; got {wrong}. Give indices in a list of names.")
    if num_classes is None:
        num_classes = max(2, int(both.max()) + 1)
    if both.min() < 0 or both.max() >= num_classes:
        found = f"{both.min()} to {both.max()}"
        raise ValueError(f"Classes must be integers from 0 to {num_classes - 1}; got {found}.")
    average = "binary" if num_classes == 2 else "macro"
    return {
        "accuracy": float(accuracy_score(labels, predictions)),
        "f1": float(f1_score(labels, predictions, average=average, zero_division=0)),
        # scikit-learn gives 0 for a single class too, with a warning.
        "mcc": float(matthews_corrcoef(labels, predictions)) if both.min() < both.max() else 0.0,
    }


def multi_label_scores(labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes accuracy and F1 of texts with any number of labels, as scikit-learn does.

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
    from sklearn.metrics import f1_score

    labels, predictions = _paired_arrays(labels, predictions, "[n, C]", "0 and 1")
    for name, array in (("labels", labels), ("predictions", predictions)):
        other = array[~np.isin(array, (0, 1))]
        if other.size:
            raise ValueError(f"{name} must be 0 or 1, not probabilities; got {other[0]}.")
    labels, predictions = labels.astype(int), predictions.astype(int)
    is_right = labels == predictions
    # scikit-learn treats a single column as a list of classes
    f1 = {"zero_division": 0, "labels": [1] if labels.shape[1] == 1 else None}
    return {
        "accuracy": float(is_right.mean()),
        "exact_match": float(is_right.all(axis=1).mean()),
        "micro_f1": float(f1_score(labels, predictions, average="micro", **f1)),
        "macro_f1": float(f1_score(labels, predictions, average="macro", **f1)),
    }


def regression_scores(labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes Pearson and Spearman correlation, as GLUE does for STS-B, and the squared error.

    Args:
        labels: `[n]` floats, the true values.
        predictions: `[n]` floats, the predicted values.

    Returns:
        A dict of floats: `pearson`, `spearman` (both 0 if labels or predictions are constant) and
        `mean_squared_error`.

    Raises:
        ValueError: if the arrays hold fewer than two values or differ in length.

    Example:
    >>> regression_scores([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["spearman"]
    1.0
    """
    from scipy.stats import pearsonr, spearmanr

    labels, predictions = np.asarray(labels, "float64"), np.asarray(predictions, "float64")
    labels, predictions = _paired_arrays(labels, predictions, "[n]", "numbers", least=2)
    constant = np.ptp(labels) == 0 or np.ptp(predictions) == 0
    return {
        "pearson": 0.0 if constant else float(pearsonr(labels, predictions).statistic),
        "spearman": 0.0 if constant else float(spearmanr(labels, predictions).statistic),
        "mean_squared_error": float(np.mean((labels - predictions) ** 2)),
    }


def _paired_arrays(labels, predictions, shape, kind, least=1):
    """Converts to two arrays of a `shape`, "[n]" or "[n, C]", and of `kind`, n at least `least`."""
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    is_valid = labels.ndim == shape.count(",") + 1 and labels.shape == predictions.shape
    if not is_valid or not labels.size or len(labels) < least:
        raise ValueError(
            f"labels and predictions must be two arrays {shape} of {kind}, n at least {least}; got "
            f"shapes {labels.shape} and {predictions.shape}."
        )
    return labels, predictions
