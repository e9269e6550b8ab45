"""Checks of a model's extra inputs. Needs TensorFlow for datasets only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.preprocessing.raw import as_arrays, is_dataset, is_single

if TYPE_CHECKING:
    import keras_bert
    from keras_bert.preprocessing.raw import Examples


def extra_input_shapes(model: keras_bert.BertTask) -> dict:
    """Returns `{name: shape without the batch}` of a task's inputs that its backbone lacks."""
    own = model.backbone.input
    return {name: tuple(x.shape[1:]) for name, x in model.input.items() if name not in own}


def checked_inputs(model: keras_bert.BertTask, x: Any) -> Any:
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
    from keras_bert.preprocessing.extra_inputs import checked_extra_inputs, with_finite_check

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


def features_in_memory(model: keras_bert.BertTask, x: Examples) -> np.ndarray:
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
