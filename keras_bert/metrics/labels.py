"""Scores of predicted labels: classes, sets of classes, or numbers."""

import numpy as np
import numpy.typing as npt


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
        ValueError: by scikit-learn, if the arrays are empty or differ in length, or hold numbers
            that aren't whole; or if a class is out of range.

    Example:
    >>> classification_scores([1, 1, 0, 0], [1, 0, 0, 0])["accuracy"]
    0.75
    """
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    accuracy = float(accuracy_score(labels, predictions))
    classes = np.unique([labels, predictions])
    most = np.inf if num_classes is None else num_classes - 1
    if classes.dtype.kind in "if" and (classes[0] < 0 or classes[-1] > most):
        found = f"{classes[0]} to {classes[-1]}"
        raise ValueError(f"Classes must be 0 to {most}, or names; got {found}.")
    is_binary = {*classes.tolist()} <= {0, 1} if num_classes is None else num_classes == 2
    average = "binary" if is_binary else "macro"
    return {
        "accuracy": accuracy,
        "f1": float(f1_score(labels, predictions, average=average, zero_division=0)),
        # scikit-learn gives 0 for a single class too, with a warning.
        "mcc": float(matthews_corrcoef(labels, predictions)) if len(classes) > 1 else 0.0,
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
        ValueError: by scikit-learn, if the arrays are empty, differ in shape, or contain values
            other than 0 and 1.

    Example:
    >>> multi_label_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]])["accuracy"]
    0.75
    """
    from sklearn.metrics import accuracy_score, f1_score

    if others := {*np.unique(labels), *np.unique(predictions)} - {0, 1}:
        raise ValueError(f"Labels are 0 or 1, [n, C]; got {min(others)}.")
    exact_match = float(accuracy_score(labels, predictions))
    labels, predictions = np.asarray(labels, int), np.asarray(predictions, int)
    # scikit-learn treats a single column as a list of classes
    f1 = {"zero_division": 0, "labels": None if labels.shape[1:] > (1,) else [1]}
    return {
        "accuracy": float((labels == predictions).mean()),
        "exact_match": exact_match,
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
        ValueError: by SciPy, if the arrays hold fewer than two values or differ in length.

    Example:
    >>> regression_scores([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["spearman"]
    1.0
    """
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_squared_error

    labels, predictions = np.asarray(labels, "float64"), np.asarray(predictions, "float64")
    constant = len(labels) > 1 and (np.ptp(labels) == 0 or np.ptp(predictions) == 0)
    return {
        "pearson": 0.0 if constant else float(pearsonr(labels, predictions).statistic),
        "spearman": 0.0 if constant else float(spearmanr(labels, predictions).statistic),
        "mean_squared_error": float(mean_squared_error(labels, predictions)),
    }
