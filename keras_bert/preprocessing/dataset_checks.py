"""Checks of the tensors of a dataset, in the input pipeline instead of the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert.graph.datasets import asserted, map_checked
from keras_bert.preprocessing.prepared_inputs import (
    NUMBERING,
    check_names,
    check_shape,
    follows,
    range_message,
    too_long,
    upper_limits,
)


def with_input_checks(model: keras.Model, dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Makes a dataset of prepared inputs raise an error at values that a model would misread.

    On a GPU or a TPU, a token id outside the table reads zeros or another row. Anything but a
    `tf.data.Dataset` is returned unchanged.
    """
    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    spec = dataset.element_spec
    inputs = spec[0] if isinstance(spec, tuple) else spec
    is_columns = model.takes_columns and isinstance(inputs, tuple)
    columns = inputs if is_columns else (inputs,)
    if not all(isinstance(column, dict) for column in columns):
        raise ValueError(
            f"A dataset of {type(model).__name__} must yield texts, or dicts of "
            f"{', '.join(model.input)}; alone, or as (inputs, labels). This one yields {inputs}."
        )
    limits = upper_limits(model)
    for column in columns:
        check_names(model, column)
        for name in limits.keys() & column.keys():
            if not isinstance(column[name], tf.TensorSpec) or column[name].dtype == tf.string:
                raise ValueError(f"{name} must be a tensor of integers; got {column[name]}.")
            if None not in (column[name].shape.rank, column["token_ids"].shape.rank):
                check_shape(model, name, column[name].shape, column["token_ids"].shape)
    longest = model.backbone.max_sequence_length

    def in_range(inputs):
        length = tf.shape(inputs["token_ids"])[-1]
        fits = tf.debugging.Assert(length <= longest, [too_long(model, "this length"), length])
        with tf.control_dependencies([fits]):
            return {name: _in_range(name, v, limits, length) for name, v in inputs.items()}

    def check(x, *rest):
        x = tuple(map(in_range, x)) if is_columns else in_range(x)
        return (x, *with_target_checks(rest)) if rest else x

    return map_checked(dataset, check)


def _in_range(name, values, limits, length):
    if name not in limits:
        return with_finite_check({name: values})[name]
    if values.dtype == tf.bool:
        return values
    limit = limits[name]
    message = range_message(name, limit)
    upper = tf.cast(length if limit is None else limit, values.dtype)
    is_right = (values >= 0) & (values < upper)
    if values.dtype.is_floating:
        is_right &= values == tf.floor(values)
    values = asserted(values, is_right, message + ". Others:")
    return _numbered(values) if name == "sequence_ids" else values


def _numbered(ids):
    before = tf.pad(ids[:, :-1], [[0, 0], [1, 0]])
    is_right = follows(before, ids) | ((tf.range(tf.shape(ids)[1]) == 0) & (ids == 1))
    return asserted(ids, is_right, NUMBERING + ". Others:")


def with_finite_check(extra_inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Converts floats to float32; reading a batch fails if a number is not finite."""
    return {
        name: finite(tf.cast(values, tf.float32), name) if values.dtype.is_floating else values
        for name, values in extra_inputs.items()
    }


def with_target_checks(targets: Sequence[Any]) -> tuple:
    """Makes reading `(labels,)` or `(labels, weights)`, of any structure, fail at wrong numbers."""
    labels, *weights = targets
    return keras.tree.map_structure(finite, labels), *keras.tree.map_structure(
        _not_negative, weights
    )


def finite(values: tf.Tensor, name: str = "Labels") -> tf.Tensor:
    """Makes reading a batch fail if a number of floats is not finite."""
    if not isinstance(values, tf.Tensor) or not values.dtype.is_floating:
        return values
    message = f"{name} must be finite numbers; leave out or fill missing values. Others:"
    return asserted(values, tf.math.is_finite(values), message)


def _not_negative(weights):
    if not isinstance(weights, tf.Tensor):
        return weights
    numbers = tf.cast(weights, tf.float32)
    is_right = tf.math.is_finite(numbers) & (numbers >= 0)
    return asserted(weights, is_right, "Weights must be finite numbers of at least 0. Others:")
