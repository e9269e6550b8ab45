"""Checks of numbers and of columns of them, in arrays and in the tensors of a dataset."""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_bert.messages import check_all_finite, check_values, shown
from keras_bert.preprocessing.forms import as_arrays, is_text, map_values


def is_column(shape: tuple) -> bool:
    """Returns whether a shape is `[n]` or `[n, 1]`."""
    return len(shape) == 1 or shape[1:] == (1,)


def number_array(
    name: str,
    values: Any,
    expected: str = "a number for each example, [n]",
    is_shape: Callable[[tuple], bool] = is_column,
    fix: str = "Leave the example out.",
    dtype: str = "float32",
) -> np.ndarray:
    """Converts finite real numbers to floats; strings, which NumPy would convert, are errors.

    >>> number_array("Scores", ["high", "low"])
    Traceback (most recent call last):
    ValueError: Scores must be a number for each example, [n]; got ['high', 'low'].
    """
    array = _as_floats(values, dtype)
    if array is None or not is_shape(array.shape):
        is_misshapen = array is not None and array.ndim
        got = f"shape {array.shape}" if is_misshapen else shown(values)
        raise ValueError(f"{name} must be {expected}; got {got}.")
    check_all_finite(name, array, fix)
    return array


def _as_floats(values, dtype):
    """Converts values to an array; returns None for strings, ragged lists and other objects."""
    try:
        array = np.asarray(as_arrays(values))
        are_numbers = holds_numbers(array)
        if array.dtype.kind == "O":
            are_numbers = not any(map(is_text, array.flat))
        return array.astype(dtype) if are_numbers else None
    except (TypeError, ValueError):
        return None


def holds_numbers(array: np.ndarray) -> bool:
    """Returns whether an array holds real numbers; bfloat16 is of the kind "V" in NumPy."""
    return array.dtype.kind in "biuf" or "float" in array.dtype.name


def extra_input_array(name: str, values: Any) -> np.ndarray:
    """Converts numbers `[n, ...]` to an array, floats as float32."""
    expected = "numbers, a row for each text, such as table[['age', 'fee']]"
    fix = "Leave the row out, or fill the value, such as with the mean."
    array = number_array(name, values, expected, lambda shape: True, fix)
    given = np.asarray(values)
    return given if given.dtype.kind in "iub" else array


def weight_arrays(sample_weight: Any, is_shape: Callable[[tuple], bool] = bool) -> Any:
    """Returns sample weights as float32, `[n, ...]`, a dict of these, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, dict):
        return map_values(weight_arrays, sample_weight)
    weights = number_array("sample_weight", sample_weight, is_shape=is_shape)
    return not_negative("sample_weight", weights)


def require(values: Any, is_right: Callable, expected: str, fix: str = "") -> Any:
    """Returns numbers, an array or a tensor, unless one of them is wrong.

    A wrong array raises a ValueError that says where; a wrong tensor fails when its batch is read.
    `is_right` is a function of float64 values; `expected` says what they must be, and `fix` what to
    do.
    """
    if isinstance(values, np.ndarray):
        if values.size and not holds_numbers(values):
            raise ValueError(f"{expected}; got {shown(values.tolist())}. {fix}".rstrip())
        with np.errstate(invalid="ignore"):  # NaN and infinity are compared, too
            check_values(values, is_right(values.astype("float64")), expected, fix)
        return values
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted

    if values.dtype == tf.string:
        raise ValueError(f"{expected}; the dataset yields strings. {fix}".rstrip())
    message = f"{expected}. {fix}".rstrip()
    return asserted(values, is_right(tf.cast(values, tf.float64)), f"{message} Others:")


def require_integers(values: Any, below: Any, expected: str, fix: str = "") -> Any:
    """Returns numbers, unless one isn't an integer from 0 and less than `below`; see `require`."""

    def is_right(values):
        return (values >= 0) & (values < below) & (values % 1 == 0)

    return require(values, is_right, expected, fix)


def finite(name: str, values: Any) -> Any:
    """Returns values, unless they are floats in an array or a tensor, and one is not finite."""
    if not hasattr(values, "ndim") or "float" not in str(values.dtype):  # or ragged
        return values
    fix = "Leave out or fill missing values."
    return require(values, lambda v: abs(v) < np.inf, f"{name} must be finite numbers", fix)


def not_negative(name: str, weights: Any) -> Any:
    """Returns weights, unless one of them is negative or not finite."""
    if not hasattr(weights, "ndim"):  # ragged
        return weights
    expected = f"{name} must be finite numbers of at least 0"
    return require(weights, lambda v: (v >= 0) & (v < np.inf), expected)
