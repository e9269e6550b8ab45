"""Checks of numbers: one for arrays in memory and for tensors on their way through a dataset."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_all_finite, check_values, shown
from keras_bert.preprocessing.forms import Labels, Tensor, as_arrays, one_each


def number_array(
    name: str,
    values: Any,
    expected: str = "a number for each example, [n]",
    is_shape: Callable[[tuple], bool] = lambda shape: shape[1:] in ((), (1,)) and shape != (),
    fix: str = "Leave the example out.",
    dtype: str = "float32",
) -> np.ndarray:
    """Converts finite real numbers to floats; strings, which NumPy would convert, are errors.

    >>> number_array("Scores", ["high", "low"])
    Traceback (most recent call last):
    ValueError: Scores must be a number for each example, [n]; got ['high', 'low'].
    """
    try:
        array = np.asarray(as_arrays(values))
        is_number = array.dtype.kind == "O" or holds_numbers(array)
        array = array.astype(dtype) if is_number else None
    except (TypeError, ValueError):  # lists of different lengths, or objects that are no numbers
        array = None
    if array is None or not is_shape(array.shape):
        got = shown(values) if array is None or not array.ndim else f"shape {array.shape}"
        raise ValueError(f"{name} must be {expected}; got {got}.")
    check_all_finite(name, array, fix)
    return array


def holds_numbers(array: np.ndarray) -> bool:
    """Returns whether an array holds real numbers; bfloat16 is of the kind "V" in NumPy."""
    return array.dtype.kind in "biuf" or "float" in array.dtype.name


def extra_input_array(name: str, values: Any) -> np.ndarray:
    """Converts numbers `[n, ...]` to an array, floats as float32."""
    expected = "numbers, a row for each text, such as table.numbers([column])"
    fix = "Leave the row out, or fill the value, such as with the mean."
    array = number_array(name, values, expected, lambda shape: True, fix)
    return np.asarray(values) if np.asarray(values).dtype.kind in "iub" else array


def checked(values: Any, is_right: Callable, expected: str, fix: str = "") -> Any:
    """Returns numbers, an array or a tensor, unless one of them is wrong.

    A wrong array raises a ValueError that says where; a wrong tensor fails when its batch is read.
    `is_right` is a function of float64 values; `expected` says what they must be, and `fix` what to
    do.
    """
    if isinstance(values, np.ndarray):
        if values.size and not holds_numbers(values):
            raise ValueError(f"{expected}; got {shown(values.tolist())}. {fix}".rstrip())
        with np.errstate(invalid="ignore"):  # of NaN and infinity
            check_values(values, is_right(values.astype("float64")), expected, fix)
        return values
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted

    if values.dtype == tf.string:
        raise ValueError(f"{expected}; the dataset yields strings. {fix}".rstrip())
    message = f"{expected}. {fix}".rstrip()
    return asserted(values, is_right(tf.cast(values, tf.float64)), f"{message} Others:")


def with_finite_check(extra_inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Converts floats to float32; reading a batch fails if a number is not finite."""
    import tensorflow as tf

    return {
        name: _finite(tf.cast(values, tf.float32), name) if values.dtype.is_floating else values
        for name, values in extra_inputs.items()
    }


def weight_arrays(sample_weight: Any) -> Any:
    """Returns sample weights as float32, `[n, ...]`, a dict of these, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, dict):
        return {name: weight_arrays(weights) for name, weights in sample_weight.items()}
    name = "sample_weight"
    return _not_negative(number_array(name, sample_weight, is_shape=len), name)


def with_target_checks(targets: tuple) -> tuple:
    """Makes reading `(labels,)` or `(labels, weights)`, of any structure, fail at wrong numbers."""
    import tensorflow as tf

    def checks(check):
        return lambda values: check(values) if isinstance(values, tf.Tensor) else values

    labels, *weights = targets
    labels = keras.tree.map_structure(checks(_finite), labels)
    return labels, *keras.tree.map_structure(checks(_not_negative), weights)


def relevance_targets(labels: Labels) -> np.ndarray:
    """Converts relevance, a teacher's scores or margins, `[n]` or `[n, D]`, to float32."""
    expected = "a number for each example"
    return one_each(number_array("Relevance", labels, expected, lambda shape: len(shape) in (1, 2)))


def checked_relevance(labels: Any) -> Any:
    """Checks that the relevance in an array or a tensor is one for binary cross-entropy."""
    return checked(
        labels,
        lambda v: (v >= 0) & (v <= 1),
        "Binary cross-entropy takes a relevance from 0 to 1",
        "Divide grades by the highest. For a teacher's scores, compile with "
        "loss='mean_squared_error'; for the margins of (query, positive, negative), with "
        "loss=MarginMeanSquaredError().",
    )


def _finite(values, name="Labels"):
    if not values.dtype.is_floating:
        return values
    fix = "Leave out or fill missing values."
    return checked(values, lambda v: abs(v) < np.inf, f"{name} must be finite numbers", fix)


def _not_negative(weights, name="Weights"):
    expected = f"{name} must be finite numbers of at least 0"
    return checked(weights, lambda v: (v >= 0) & (v < np.inf), expected)
