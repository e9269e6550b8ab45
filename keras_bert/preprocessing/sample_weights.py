"""Checks of sample weights. Needs NumPy only."""

from typing import Any

import numpy as np

from keras_bert.preprocessing.raw import as_arrays


def check_weights(sample_weight: Any) -> None:
    """Raises a ValueError unless weights are finite numbers.

    Args:
        sample_weight: `[n, ...]` numbers, a dict or a list of such arrays, or None.
    """
    if sample_weight is None:
        return
    if isinstance(sample_weight, dict):
        for weights in sample_weight.values():
            check_weights(weights)
        return
    try:
        array = np.asarray(as_arrays(sample_weight)).astype("float64")
    except (TypeError, ValueError) as error:
        raise ValueError(
            "sample_weight must be a list or an array of numbers, one for each example."
        ) from error
    if array.ndim == 0:
        raise ValueError(
            f"sample_weight must have a number for each example; got the single value {array}."
        )
    if not np.isfinite(array).all():
        place = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ValueError(
            f"sample_weight must be finite numbers; example {place[0]} has {array[place]}. Give an "
            "example a weight of 0 to leave it out."
        )
