"""Checks of the numbers that accompany texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_bert.preprocessing.raw import as_arrays, checked_extra_input, is_dataset, is_single

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_bert.preprocessing.raw import Examples


def with_finite_check(extra_inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Adds the same check to the graph: reading a batch fails if a number is not finite."""
    import tensorflow as tf

    return {
        name: finite(tf.cast(values, tf.float32), name) if values.dtype.is_floating else values
        for name, values in extra_inputs.items()
    }


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

    from keras_bert.graph.datasets import asserted

    if not isinstance(values, tf.Tensor) or not values.dtype.is_floating:
        return values
    message = f"{name} must be finite numbers; leave out or fill missing values. Others:"
    return asserted(values, tf.math.is_finite(values), message)


def _not_negative(weights):
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted

    if not isinstance(weights, tf.Tensor):
        return weights
    numbers = tf.cast(weights, tf.float32)
    is_right = tf.math.is_finite(numbers) & (numbers >= 0)
    return asserted(weights, is_right, "Weights must be finite numbers of at least 0. Others:")


def checked_inputs(model: keras.Model, x: Any) -> Any:
    """Checks that raw or prepared inputs have a task's extra inputs, such as features.

    Returns:
        The same inputs, or dataset of inputs, with extra inputs of floats as float32.

    Raises:
        ValueError: if an extra input is missing, has the wrong shape, or is not finite.
    """
    own = model.backbone.input
    wanted = {name: tuple(x.shape[1:]) for name, x in model.input.items() if name not in own}
    if not wanted or getattr(x, "dtype", None) is not None:
        return x
    if is_dataset(x):
        spec = x.element_spec[0] if isinstance(x.element_spec, tuple) else x.element_spec
        _check_has(model, spec, wanted, is_batch=False)
        if "token_ids" not in spec:
            return x  # texts, whose extra inputs the preprocessor checks
        return x.map(lambda *parts: _with(parts, with_finite_check, wanted))
    if x is not None and not isinstance(x, (dict, list, tuple, str)):
        return x  # a generator or a PyDataset
    _check_has(model, x, wanted, is_batch=True)
    return _with((as_arrays(x),), _checked_each, wanted)


def features_in_memory(model: keras.Model, x: Examples) -> np.ndarray:
    """Returns the features of examples in memory, `[n, K]`."""
    if is_dataset(x):
        raise ValueError(
            "The features of a dataset can't be looked at before training: call "
            "model.adapt_features(features) first, with those of the training data."
        )
    return checked_inputs(model, x)["features"]


def _checked_each(extra_inputs):
    return {name: checked_extra_input(name, values) for name, values in extra_inputs.items()}


def _with(parts, check, wanted):
    x, *rest = parts
    x = {**x, **check({name: x[name] for name in wanted})}
    return (x, *rest) if rest else x


def _check_has(model, x, wanted, is_batch):
    form = {name: f"[{', '.join(['n', *map(str, shape)])}]" for name, shape in wanted.items()}
    if not isinstance(x, dict) or not set(wanted) <= set(x):
        numbers = ", ".join(f"'{name}': {shape} numbers" for name, shape in form.items())
        raise ValueError(
            f"This {type(model).__name__} takes {' and '.join(wanted)} alongside text: give "
            f"{{'text': texts, {numbers}}}."
        )
    for name, shape in wanted.items():
        given = getattr(x[name], "shape", None)
        given = checked_extra_input(name, x[name]).shape if given is None else given
        given, is_one = tuple(given), not is_batch or is_single(x)
        is_shape = given[1:] == shape or (is_one and given == shape)
        if not is_shape and None not in (*shape, *given[1:]):
            raise ValueError(
                f"{name} must be {form[name]} for this {type(model).__name__}; got shape {given}."
            )
