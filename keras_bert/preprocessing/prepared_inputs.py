"""Checks of prepared inputs in memory: token ids, segment ids and masks. Needs no TensorFlow."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.preprocessing.raw import as_arrays

PACKED = ("sequence_ids", "cls_positions")
"""Inputs of rows that hold several sequences each, in calls only."""

OPTIONAL = ("segment_ids", "padding_mask")
OTHER_NAMES = {  # in other libraries
    "input_ids": "token_ids",
    "input_word_ids": "token_ids",
    "attention_mask": "padding_mask",
    "input_mask": "padding_mask",
    "token_type_ids": "segment_ids",
    "input_type_ids": "segment_ids",
    "masked_lm_positions": "mask_positions",
}


def input_arrays(model: keras.Model, x: dict[str, Any]) -> dict[str, Any]:
    """Checks prepared inputs, and returns those that aren't None, lists as arrays."""
    x = {name: values for name, values in x.items() if values is not None}
    check_names(model, x)
    limits = upper_limits(model)
    x = {name: _array(name, as_arrays(values)) for name, values in x.items()}
    ids = np.shape(x["token_ids"])
    for name, values in x.items():
        if name not in limits:
            continue
        check_shape(model, name, np.shape(values), ids)
        limit = ids[-1] if limits[name] is None else limits[name]
        _check_range(name, keras.ops.convert_to_numpy(values), limit)
        if name == "sequence_ids":
            _check_sequence_ids(keras.ops.convert_to_numpy(values))
    if 0 in ids:
        raise ValueError(f"There are no tokens: token_ids has shape {ids}.")
    return x


def check_names(model: keras.Model, names: Iterable[str]) -> None:
    """Raises a ValueError unless inputs have the names that a model takes."""
    taken = input_names(model)
    unknown = [n for n in names if n not in (*taken, "segment_ids")]  # an encoder may have none
    missing = [n for n in model.input if n not in (*names, *OPTIONAL)]
    if unknown or missing:
        what = f"has no input {unknown[0]!r}" if unknown else f"needs {', '.join(missing)}"
        other = OTHER_NAMES.get(unknown[0]) if unknown else None
        hint = f" {unknown[0]} is called {other} here." if other in model.input else ""
        raise ValueError(
            f"{type(model).__name__} {what}; it takes a dict of {', '.join(taken)}.{hint}"
        )


def input_names(model: keras.Model) -> list[str]:
    """Returns the names of inputs that a model may be called with."""
    return [*model.input, *(PACKED if model.takes_packed_rows else ())]


def upper_limits(model: keras.Model) -> dict[str, int | None]:
    """Returns `{name: number of values}` of a model's integer inputs; None is the length."""
    sizes = model.backbone
    limits = {
        "token_ids": sizes.vocabulary_size,
        "segment_ids": sizes.num_segments,
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
    form = "[B, C, S]" if len(model.input["token_ids"].shape) == 3 else "[B, S]"
    if len(shape) != form.count(",") + 1:
        raise ValueError(f"{name} must have the shape {form}; got {tuple(shape)}. Batch a dataset.")
    length = shape[-1]
    if name == "token_ids" and length is not None and length > model.backbone.max_sequence_length:
        raise ValueError(too_long(model, f"{length} tokens"))
    compared = shape[:-1] if name in ("mask_positions", "cls_positions") else shape
    pairs = zip(compared, ids, strict=False)
    if any(own != other for own, other in pairs if None not in (own, other)):
        raise ValueError(f"{name} has shape {tuple(shape)} but token_ids has shape {tuple(ids)}.")


def too_long(model: keras.Model, tokens: str) -> str:
    """Returns the message for sequences that are longer than a model's position table."""
    return (
        f"Sequences of {tokens} are longer than the position table of "
        f"{model.backbone.max_sequence_length} rows. Shorten them (sequence_length), or build the "
        "model with a larger max_sequence_length."
    )


def range_message(name: str, limit: int | None) -> str:
    """Returns what the values of an input must be; `limit` is None if it varies."""
    reason = {
        "token_ids": "the rows of the model's token table",
        "segment_ids": "the segments of the model",
        "padding_mask": "1 at tokens and 0 at padding",
        "sequence_ids": "the numbers of a row's sequences",
    }.get(name, "positions in the row")
    numbers = "integers" if limit is None else f"integers from 0 to {limit - 1}"
    return f"{name} must be {numbers}, {reason}"


def _array(name, values):
    if not isinstance(values, (list, tuple)):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} has rows of different lengths: pad them, with padding_mask 0 there."
        ) from error


def _check_range(name, array, limit):
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{range_message(name, limit)}; got values of dtype {array.dtype}.")
    wrong = ~((array >= 0) & (array < limit) & (array == np.floor(array)))  # catches NaN
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0]))
        raise ValueError(f"{range_message(name, limit)}; got {array[place]} at {list(place)}.")


NUMBERING = (
    "sequence_ids must number the sequences of a row 1, 2, ... in order, and be 0 at the padding "
    "after the last one, such as [1, 1, 1, 2, 2, 0]"
)


def follows(before: Any, number: Any) -> Any:
    """Returns where a token's sequence id may follow that of the token before; elementwise."""
    return (number == 0) | ((before > 0) & ((number == before) | (number == before + 1)))


def _check_sequence_ids(ids):
    before = np.pad(ids[:, :-1], [(0, 0), (1, 0)])
    is_right = follows(before, ids)
    is_right[:, 0] |= ids[:, 0] == 1
    if not is_right.all():
        row, column = map(int, np.argwhere(~is_right)[0])
        raise ValueError(f"{NUMBERING}; got {ids[row, column]} at {[row, column]}.")
