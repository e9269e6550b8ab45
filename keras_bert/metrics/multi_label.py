"""Multi-label classification scores."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.paired_arrays import paired_arrays


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

    labels, predictions = paired_arrays(labels, predictions, "[n, C]", "0 and 1")
    for name, array in (("labels", labels), ("predictions", predictions)):
        if not np.isin(array, (0, 1)).all():
            other = array[~np.isin(array, (0, 1))][0]
            raise ValueError(
                f"{name} must be 0 or 1; got {other}. Compare probabilities with a threshold first."
            )
    labels, predictions = labels.astype(int), predictions.astype(int)
    is_right = labels == predictions
    # scikit-learn treats a single column as a list of classes
    f1 = {"zero_division": 0, "labels": [1]} if labels.shape[1] == 1 else {"zero_division": 0}
    return {
        "accuracy": float(is_right.mean()),
        "exact_match": float(is_right.all(axis=1).mean()),
        "micro_f1": float(f1_score(labels, predictions, average="micro", **f1)),
        "macro_f1": float(f1_score(labels, predictions, average="macro", **f1)),
    }
