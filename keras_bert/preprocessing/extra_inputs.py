"""Checks of the numbers that accompany texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.raw import as_arrays, is_dataset, is_single

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_bert.preprocessing.raw import Examples


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


def extra_input_shapes(model: keras.Model) -> dict:
    """Returns `{name: shape without the batch}` of a task's inputs that its backbone lacks."""
    own = model.backbone.input
    return {name: tuple(x.shape[1:]) for name, x in model.input.items() if name not in own}


def checked_inputs(model: keras.Model, x: Any) -> Any:
    """Checks that examples have a task's extra inputs, such as features.

    Args:
        model: a `BertTask`.
        x: raw or prepared inputs, or a `tf.data.Dataset` of them.

    Returns:
        The same inputs, with extra inputs of floats as float32.

    Raises:
        ValueError: if an extra input is missing, has the wrong shape, or is not finite.
    """
    wanted = extra_input_shapes(model)
    if not wanted or getattr(x, "dtype", None) is not None:
        return x
    if is_dataset(x):
        spec = x.element_spec
        _check_has(model, spec[0] if isinstance(spec, tuple) else spec, wanted, is_batch=False)
        if "token_ids" not in (spec[0] if isinstance(spec, tuple) else spec):
            return x  # texts, whose extra inputs the preprocessor checks
        return x.map(lambda *parts: _with(parts, with_finite_check, wanted))
    if x is not None and not isinstance(x, (dict, list, tuple, str)):
        return x  # a generator or a PyDataset
    _check_has(model, x, wanted, is_batch=True)
    return _with((as_arrays(x),), checked_extra_inputs, wanted)


def input_array(name: str, values: Any) -> np.ndarray:
    """Converts the values of an extra input to an array, of any dtype.

    Raises:
        ValueError: if they aren't an array, such as rows that differ in length.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise not_numbers(name, error) from error


def not_numbers(name: str, error: Exception) -> ValueError:
    """Makes the error for an extra input that isn't an array of numbers."""
    return ValueError(
        f"{name} must be an array of numbers with one row for each text: {error}. Read a file's "
        "column with table.numbers([column])."
    )


def features_in_memory(model: keras.Model, x: Examples) -> np.ndarray:
    """Returns the features of examples in memory, `[n, K]`.

    Raises:
        ValueError: if the examples are a dataset, or the features are invalid.
    """
    if is_dataset(x):
        raise ValueError(
            "The features of a dataset can't be looked at before training: call "
            "model.adapt_features(features) first, with those of the training data."
        )
    return checked_inputs(model, x)["features"]


def _with(parts, check, wanted):
    x, *rest = parts
    x = {**x, **check({name: x[name] for name in wanted})}
    return (x, *rest) if rest else x


def _check_has(model, x, wanted, is_batch):
    shown = ", ".join(f"'{name}': {_shown(shape)}" for name, shape in wanted.items())
    if not isinstance(x, dict) or not set(wanted) <= set(x):
        raise ValueError(
            f"This {type(model).__name__} takes {' and '.join(wanted)} alongside text: give "
            f"{{'text': texts, {shown} numbers}}."
        )
    for name, shape in wanted.items():
        given = x[name].shape if hasattr(x[name], "shape") else input_array(name, x[name]).shape
        given, is_one = tuple(given), not is_batch or is_single(x)
        is_shape = given[1:] == shape or (is_one and given == shape)
        if not is_shape and None not in (*shape, *given[1:]):
            raise ValueError(
                f"{name} must be {_shown(shape)} for this {type(model).__name__}; got shape "
                f"{given}."
            )


def _shown(shape):
    return f"[{', '.join(['n', *map(str, shape)])}]"
