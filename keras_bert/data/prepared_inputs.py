"""Checks of prepared inputs, in memory and in datasets: names, shapes and ranges."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.data.translators import inputs_of
from keras_bert.preprocessing.checked_numbers import (
    extra_input_array,
    finite,
    not_negative,
    require,
    require_integers,
)
from keras_bert.preprocessing.forms import Dataset, Tensor, as_arrays
from keras_bert.preprocessing.labels import AnyLabels
from keras_bert.preprocessing.text_rows import ops_of

PACKED = ("sequence_ids", "cls_positions")
"""Inputs of rows that hold several sequences each, in calls only."""

OPTIONAL = ("segment_ids", "padding_mask")


def input_arrays(model: keras.Model, x: dict[str, Any]) -> dict[str, Any]:
    """Checks prepared inputs, and returns those that aren't None, lists as arrays."""
    x = {name: values for name, values in as_arrays(x).items() if values is not None}
    for name, values in x.items():
        if not hasattr(values, "shape"):
            x[name] = _array(name, values)
    limits = integer_limits(model, x)
    ids_shape = tuple(x["token_ids"].shape)
    for name, limit in limits.items():
        values = keras.ops.convert_to_numpy(x[name])
        _in_range(name, values, limit or ids_shape[-1])
    if 0 in ids_shape:
        raise ValueError(f"There are no tokens: token_ids has shape {ids_shape}.")
    return x


def _array(name, values):
    try:
        return np.asarray(values)
    except ValueError as error:
        raise _ragged(name) from error


def _ragged(name):
    return ValueError(f"{name} has rows of different lengths: pad them, with padding_mask 0 there.")


def with_extra_arrays(task: keras.Model, x: Any) -> Any:
    """Returns prepared inputs with the task's extra inputs, such as features, as float32.

    Raises:
        ValueError: if an extra input is missing, has the wrong shape, or is not finite.
    """
    names = extra_shapes(task)
    if names and isinstance(x, dict):
        x = as_arrays(x)
        for name in names.keys() & x.keys():
            x[name] = extra_input_array(name, x[name])
    check_extra_inputs(task, x)
    return x


def extra_shapes(task: keras.Model) -> dict[str, tuple]:
    """Returns the shapes of what a task takes alongside text, such as features, without `B`."""
    names = task.input.keys() - task.backbone.input.keys() - {"segment_ids"}
    return {name: tuple(task.input[name].shape[1:]) for name in sorted(names)}


def check_extra_inputs(task: keras.Model, x: Any, may_be_one: bool = False) -> None:
    """Raises a ValueError unless examples, or their specs, have the task's extra inputs.

    With `may_be_one`, `x` may also be those of a single example.
    """
    shapes = extra_shapes(task)
    forms = []
    wrong = []
    for name, shape in shapes.items():
        sizes = ", ".join(map(str, ("n", *shape)))
        forms.append(f"'{name}': [{sizes}] numbers")
        if not isinstance(x, dict) or name not in x:
            wrong.append(f"no {name}")
            continue
        given = tuple(x[name].shape)
        is_shape = given[1:] == shape or (may_be_one and given == shape)
        if not is_shape and None not in (*shape, *given[1:]):
            wrong.append(f"{name} of shape {given}")
    if wrong:
        raise ValueError(
            f"This {type(task).__name__} takes {' and '.join(shapes)} alongside text: give "
            f"{{'text': texts, {', '.join(forms)}}}; got {' and '.join(wrong)}."
        )


def check_names(model: keras.Model, names: Iterable[str]) -> None:
    """Raises a ValueError unless inputs have the names that a model takes."""
    taken = input_names(model)
    # An encoder without segments ignores their ids; only losses and metrics read shares.
    allowed = (*taken, "segment_ids", "window_share")
    unknown = [name for name in names if name not in allowed]
    given = (*names, *OPTIONAL)
    missing = [name for name in model.input if name not in given]
    if not unknown and not missing:
        return
    problem = f"needs {', '.join(missing)}"
    hint = ""
    if unknown:
        problem = f"has no input {unknown[0]!r}"
        if unknown[0] in PACKED:
            hint = " Packed rows are for pre-training: batch by length, with bucket_lengths."
    raise ValueError(
        f"{type(model).__name__} {problem}; it takes a dict of {', '.join(taken)}.{hint}"
    )


def input_names(model: keras.Model) -> list[str]:
    """Returns the names of inputs that a model may be called with."""
    return [*model.input, *(PACKED if model.takes_packed_rows else ())]


def integer_limits(model: keras.Model, x: dict[str, Any]) -> dict[str, int | None]:
    """Checks the names and shapes of inputs, arrays or tensors.

    Returns:
        `{name: number of values}` of those that are integers; None is the length of a row.
    """
    check_names(model, x)
    limits = {
        "token_ids": model.backbone.vocabulary_size,
        "segment_ids": max(2, model.backbone.num_segments),  # a table of a single row ignores them
        "padding_mask": 2,
        "mask_positions": None,
        "sequence_ids": None,
        "cls_positions": None,
    }
    taken = input_names(model)
    limits = {name: limits[name] for name in limits if name in taken and name in x}
    for name in limits:
        check_shape(model, name, x[name].shape, x["token_ids"].shape)
    return limits


def check_shape(
    model: keras.Model, name: str, shape: Sequence[int | None], ids: Sequence[int | None]
) -> None:
    """Raises a ValueError if an input's shape, with None for unknown sizes, can't fit `ids`."""
    if None in (getattr(shape, "rank", 0), getattr(ids, "rank", 0)):  # unknown in a dataset
        return
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


def with_checks(model: keras.Model, dataset: Dataset, labels: AnyLabels) -> Dataset:
    """Makes a dataset of prepared inputs raise an error at values that a model would misread.

    On a GPU or a TPU, a token id outside the table reads zeros or another row, and the loss of a
    wrong label is NaN, or that of another label.
    """
    import tensorflow as tf

    from keras_bert.graph.datasets import map_checked

    inputs = inputs_of(dataset.element_spec)
    is_columns = model.takes_columns and isinstance(inputs, tuple)
    for column in inputs if is_columns else [inputs]:
        if not isinstance(column, dict):
            raise ValueError(
                f"A dataset of {type(model).__name__} must yield texts, or dicts of "
                f"{', '.join(model.input)}; alone, or as (inputs, labels). This one yields "
                f"{inputs}."
            )
        for name, spec in column.items():
            if isinstance(spec, tf.RaggedTensorSpec):
                raise _ragged(name)
    longest = model.backbone.max_sequence_length

    def checked_inputs(inputs):
        limits = integer_limits(model, inputs)
        length = tf.shape(inputs["token_ids"])[-1]
        fits = tf.debugging.Assert(length <= longest, [too_long(model, "this length"), length])
        with tf.control_dependencies([fits]):
            length = tf.cast(length, tf.float64)
        others = {name: inputs[name] for name in inputs.keys() - limits.keys()}
        checked = finite_floats(others)
        for name, limit in limits.items():
            checked[name] = _in_range(name, inputs[name], limit or length)
        return checked

    def check(x, *targets):
        x = tuple(map(checked_inputs, x)) if is_columns else checked_inputs(x)
        if not targets:
            return x
        numbers, *weights = targets
        weights = keras.tree.map_structure(functools.partial(not_negative, "Weights"), weights)
        return x, labels.checked(numbers, x), *weights

    return map_checked(dataset, check)


def _in_range(name, values, below):
    """Checks that values are integers from 0 and less than `below`, an int or a tensor."""
    reasons = {
        "token_ids": "the rows of the model's token table",
        "segment_ids": "the segments of the model",
        "padding_mask": "1 at tokens and 0 at padding",
        "sequence_ids": "the numbers of a row's sequences",
    }
    reason = reasons.get(name, "positions in the row")
    numbers = f"integers from 0 to {below - 1}" if isinstance(below, int) else "integers"
    expected = f"{name} must be {numbers}, {reason}"
    values = require_integers(values, below, expected)
    if name == "sequence_ids":
        values = require(values, _are_numbered, _NUMBERING)
    return values


_NUMBERING = (
    "sequence_ids must number the sequences of a row 1, 2, ... in order, and be 0 at the padding "
    "after the last one, such as [1, 1, 1, 2, 2, 0]"
)


def _are_numbered(ids):
    """Returns where a token's sequence id may follow that of the token before."""
    ops = ops_of(ids)
    starts = ops.cast(ids[:, :1] == 1, "float64")
    before = ops.concat([starts, ids[:, :-1]], axis=1)
    goes_on = (ids == before) | (ids == before + 1)
    return (ids == 0) | ((before > 0) & goes_on)


def finite_floats(extra_inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Converts floats to float32; reading a batch fails if a number is not finite."""
    import tensorflow as tf

    checked = {}
    for name, values in extra_inputs.items():
        if values.dtype.is_floating:
            values = tf.cast(values, tf.float32)
        checked[name] = finite(name, values)
    return checked
