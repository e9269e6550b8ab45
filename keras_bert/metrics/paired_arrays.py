"""Labels and predictions as arrays of one shape."""

import numpy as np
import numpy.typing as npt


def paired_arrays(
    labels: npt.ArrayLike, predictions: npt.ArrayLike, shape: str, kind: str, least: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Converts labels and predictions to arrays and checks their shapes.

    Args:
        labels: any array-like.
        predictions: any array-like.
        shape: `"[n]"` or `"[n, C]"`, the expected shape.
        kind: plural noun for the values, for the message.
        least: int, the smallest valid n.

    Raises:
        ValueError: if the shapes differ, have the wrong rank, or hold fewer than `least` rows.
    """
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    is_valid = labels.ndim == shape.count(",") + 1 and labels.shape == predictions.shape
    if not is_valid or not labels.size or len(labels) < least:
        raise ValueError(
            f"labels and predictions must be two arrays {shape} of {kind}, n at least {least}; got "
            f"shapes {labels.shape} and {predictions.shape}."
        )
    return labels, predictions
