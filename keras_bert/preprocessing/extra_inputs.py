"""Checks of the numbers that accompany texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.model_inputs import input_array, not_numbers

if TYPE_CHECKING:
    import tensorflow as tf


def checked_extra_inputs(extra_inputs: Mapping[str, npt.ArrayLike]) -> dict[str, np.ndarray]:
    """Checks the numbers that accompany texts.

    Args:
        extra_inputs: `{name: [n, ...] numbers}`.

    Returns:
        A dict of arrays, floats as float32.

    Raises:
        ValueError: if a value is not a finite number. The message names its row.

    Example:
    >>> checked_extra_inputs({"features": [[30, 1.5], [41, 2]]})["features"].dtype
    dtype('float32')
    """
    return {name: _checked(name, values) for name, values in extra_inputs.items()}


def with_finite_check(extra_inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Adds the same check to the graph: reading a batch fails if a number is not finite."""
    import tensorflow as tf

    checked = {}
    for name, values in extra_inputs.items():
        if values.dtype.is_floating:
            values = finite(tf.cast(values, tf.float32), name)
        checked[name] = values
    return checked


def checked_targets(targets: Sequence[Any]) -> tuple:
    """Makes reading a batch fail if labels are not finite, or weights are negative either.

    Args:
        targets: labels, alone or with weights; tensors, or structures of them.
    """
    labels, *weights = targets
    return keras.tree.map_structure(finite, labels), *keras.tree.map_structure(
        _not_negative, weights
    )


def finite(values: tf.Tensor, name: str = "Labels") -> tf.Tensor:
    """Makes reading a batch fail if a number of floats is not finite."""
    import tensorflow as tf

    if not isinstance(values, tf.Tensor) or not values.dtype.is_floating:
        return values
    message = f"{name} must be finite numbers; leave out or fill missing values. They are:"
    return _asserted(values, tf.math.is_finite(values), message)


def _not_negative(weights):
    import tensorflow as tf

    if not isinstance(weights, tf.Tensor):
        return weights
    numbers = tf.cast(weights, tf.float32)
    is_right = tf.math.is_finite(numbers) & (numbers >= 0)
    return _asserted(weights, is_right, "Weights must be finite numbers of at least 0. They are:")


def _asserted(values, is_right, message):
    import tensorflow as tf

    assertion = tf.debugging.Assert(tf.reduce_all(is_right), [message, values])
    with tf.control_dependencies([assertion]):
        return tf.identity(values)


def _checked(name, values):
    array = input_array(name, values)
    try:
        if array.dtype.kind not in "iub":
            array = array.astype("float32")
    except (TypeError, ValueError) as error:
        raise not_numbers(name, error) from error
    if not np.isfinite(array).all():
        row, *column = np.argwhere(~np.isfinite(array))[0]
        where = f" in column {column[0]}" if column else ""
        raise ValueError(
            f"{name} must be finite numbers; row {row} has {array[(row, *column)]}{where}. Leave "
            "the row out, or fill the value, for example with the column's mean."
        )
    return array
