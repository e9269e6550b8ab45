"""Checks of sample weights. Needs NumPy only."""

from typing import Any

import numpy as np

from keras_bert.preprocessing.raw import as_arrays, as_floats


def checked_weights(sample_weight: Any) -> Any:
    """Checks sample weights, and returns them with arrays in place of lists and columns.

    Args:
        sample_weight: `[n, ...]` numbers, a dict of such arrays, or None.

    Raises:
        ValueError: if a weight is not a finite number of at least 0.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, dict):
        return {name: checked_weights(weights) for name, weights in sample_weight.items()}
    sample_weight = as_arrays(sample_weight)
    try:
        array = as_floats(sample_weight, "float64")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "sample_weight must be a list or an array of numbers, one for each example."
        ) from error
    if array.ndim == 0:
        raise ValueError(
            f"sample_weight must have a number for each example; got the single value {array}."
        )
    is_right = np.isfinite(array) & (array >= 0)
    if not is_right.all():
        place = tuple(map(int, np.argwhere(~is_right)[0]))
        raise ValueError(
            f"sample_weight must be finite numbers of at least 0; example {place[0]} has "
            f"{array[place]}. Give an example a weight of 0 to leave it out."
        )
    return array.astype("float32") if isinstance(sample_weight, (list, tuple)) else sample_weight
