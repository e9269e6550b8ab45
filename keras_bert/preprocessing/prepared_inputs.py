"""Checks of prepared inputs, in memory and in datasets: token ids, segment ids and masks."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.other_libraries import INPUTS
from keras_bert.preprocessing.checked_numbers import require, with_finite_check, with_target_checks
from keras_bert.preprocessing.forms import Dataset, as_arrays, inputs_of
from keras_bert.preprocessing.text_rows import ops_of

PACKED = ("sequence_ids", "cls_positions")
"""Inputs of rows that hold several sequences each, in calls only."""

OPTIONAL = ("segment_ids", "padding_mask")


def input_arrays(model: keras.Model, x: dict[str, Any]) -> dict[str, Any]:
    """Checks prepared inputs, and returns those that aren't None, lists as arrays."""
    x = {name: values for name, values in x.items() if values is not None}
    check_names(model, x)
    x = {name: _array(name, as_arrays(values)) for name, values in x.items()}
    ids_shape = np.shape(x["token_ids"])
    limits = upper_limits(model)
    for name, values in x.items():
        if name in limits:
            check_shape(model, name, np.shape(values), ids_shape)
            limit = ids_shape[-1] if limits[name] is None else limits[name]
            _in_range(name, keras.ops.convert_to_numpy(values), limit, limit)
    if 0 in ids_shape:
        raise ValueError(f"There are no tokens: token_ids has shape {ids_shape}.")
    return x


def check_names(model: keras.Model, names: Iterable[str]) -> None:
    """Raises a ValueError unless inputs have the names that a model takes."""
    taken = input_names(model)
    allowed = (*taken, "segment_ids")  # which an encoder without segments ignores
    unknown = [name for name in names if name not in allowed]
    given = (*names, *OPTIONAL)
    missing = [name for name in model.input if name not in given]
    if not unknown and not missing:
        return
    problem = f"needs {', '.join(missing)}"
    hint = ""
    if unknown:
        problem = f"has no input {unknown[0]!r}"
        name_here = INPUTS.get(unknown[0])
        if name_here in model.input:
            hint = f" {unknown[0]} is called {name_here} here."
    raise ValueError(
        f"{type(model).__name__} {problem}; it takes a dict of {', '.join(taken)}.{hint}"
    )


def input_names(model: keras.Model) -> list[str]:
    """Returns the names of inputs that a model may be called with."""
    names = list(model.input)
    return names + list(PACKED) if model.takes_packed_rows else names


def upper_limits(model: keras.Model) -> dict[str, int | None]:
    """Returns `{name: number of values}` of a model's integer inputs; None is the length."""
    limits = {
        "token_ids": model.backbone.vocabulary_size,
        "segment_ids": model.backbone.num_segments,
        "padding_mask": 2,
        "mask_positions": None,
        "sequence_ids": None,
        "cls_positions": None,
    }
    return {name: limits[name] for name in input_names(model) if name in limits}


def check_shape(
    model: keras.Model, name: str, shape: Sequence[int | None], ids: Sequence[int | None]
) -> None:
    """Raises a ValueError if an input's shape, with None for unknown sizes, can't fit `ids`."""
    num_axes = len(model.input["token_ids"].shape)
    if len(shape) != num_axes:
        form = "[B, C, S]" if num_axes == 3 else "[B, S]"
        raise ValueError(f"{name} must have the shape {form}; got {tuple(shape)}. Batch a dataset.")
    length = shape[-1]
    if name == "token_ids" and length is not None and length > model.backbone.max_sequence_length:
        raise ValueError(too_long(model, f"{length} tokens"))
    has_positions = name in ("mask_positions", "cls_positions")  # of any number in a row
    compared = shape[:-1] if has_positions else shape
    for size, ids_size in zip(compared, ids, strict=False):
        if None not in (size, ids_size) and size != ids_size:
            raise ValueError(
                f"{name} has shape {tuple(shape)} but token_ids has shape {tuple(ids)}."
            )


def too_long(model: keras.Model, tokens: str) -> str:
    """Returns the message for sequences that are longer than a model's position table."""
    return (
        f"Sequences of {tokens} are longer than the position table of "
        f"{model.backbone.max_sequence_length} rows. Shorten them (sequence_length), or build the "
        "model with a larger max_sequence_length."
    )


def _array(name, values):
    if not isinstance(values, (list, tuple)):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} has rows of different lengths: pad them, with padding_mask 0 there."
        ) from error


def with_input_checks(model: keras.Model, dataset: Dataset) -> Dataset:
    """Makes a dataset of prepared inputs raise an error at values that a model would misread.

    On a GPU or a TPU, a token id outside the table reads zeros or another row. Anything but a
    `tf.data.Dataset` is returned unchanged.
    """
    import tensorflow as tf

    from keras_bert.graph.datasets import map_checked

    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    inputs = inputs_of(dataset.element_spec)
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
        ids = column["token_ids"]
        for name in limits.keys() & column.keys():
            values = column[name]
            if not isinstance(values, tf.TensorSpec) or values.dtype == tf.string:
                raise ValueError(f"{name} must be a tensor of integers; got {values}.")
            if None not in (values.shape.rank, ids.shape.rank):
                check_shape(model, name, values.shape, ids.shape)
    longest = model.backbone.max_sequence_length

    def in_range(inputs):
        length = tf.shape(inputs["token_ids"])[-1]
        fits = tf.debugging.Assert(length <= longest, [too_long(model, "this length"), length])
        with tf.control_dependencies([fits]):
            length = tf.cast(length, tf.float64)
        checked = with_finite_check({name: inputs[name] for name in inputs.keys() - limits.keys()})
        for name in inputs.keys() & limits.keys():
            limit = limits[name]
            below = length if limit is None else limit
            checked[name] = _in_range(name, inputs[name], limit, below)
        return checked

    def check(x, *targets):
        x = tuple(map(in_range, x)) if is_columns else in_range(x)
        return (x, *with_target_checks(targets)) if targets else x

    return map_checked(dataset, check)


def _in_range(name, values, limit, below):
    """Checks that values are integers from 0 and less than `below`; a varying `limit` is None."""
    reasons = {
        "token_ids": "the rows of the model's token table",
        "segment_ids": "the segments of the model",
        "padding_mask": "1 at tokens and 0 at padding",
        "sequence_ids": "the numbers of a row's sequences",
    }
    reason = reasons.get(name, "positions in the row")
    numbers = "integers" if limit is None else f"integers from 0 to {limit - 1}"
    expected = f"{name} must be {numbers}, {reason}"
    values = require(values, lambda v: (v >= 0) & (v < below) & (v % 1 == 0), expected)
    return require(values, _are_numbered, _NUMBERING) if name == "sequence_ids" else values


_NUMBERING = (
    "sequence_ids must number the sequences of a row 1, 2, ... in order, and be 0 at the padding "
    "after the last one, such as [1, 1, 1, 2, 2, 0]"
)


def _are_numbered(ids):
    """Returns where a token's sequence id may follow that of the token before."""
    ops = ops_of(ids)
    before = ops.concat([ops.cast(ids[:, :1] == 1, "float64"), ids[:, :-1]], axis=1)
    return (ids == 0) | ((before > 0) & ((ids == before) | (ids == before + 1)))
