"""Classification scores."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.paired_arrays import paired_arrays


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

    labels, predictions = paired_arrays(labels, predictions, "[n]", "class numbers")
    both = np.concatenate([labels, predictions])
    if not np.issubdtype(both.dtype, np.integer):
        raise ValueError(
            f"Classes must be integers; got {both.dtype}, such as {both[0].item()!r}. Give the "
            "number of each class, such as its index in a list of their names."
        )
    if num_classes is None:
        num_classes = max(2, int(both.max()) + 1)
    if both.min() < 0 or both.max() >= num_classes:
        raise ValueError(
            f"Classes must be integers from 0 to {num_classes - 1}; got numbers from "
            f"{both.min()} to {both.max()}."
        )
    average = "binary" if num_classes == 2 else "macro"
    return {
        "accuracy": float(accuracy_score(labels, predictions)),
        "f1": float(f1_score(labels, predictions, average=average, zero_division=0)),
        # scikit-learn gives 0 for a single class too, with a warning.
        "mcc": float(matthews_corrcoef(labels, predictions)) if both.min() < both.max() else 0.0,
    }
