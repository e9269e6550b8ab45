"""Losses and metrics of rows with several slots. B rows, K slots of a row.

Slots are the tokens of a tagger, the masked positions of a pre-trainer, or the sequences of a
packed row. A mean over slots divides by the slots that count, however rows are batched and padded.

An output with two axes in a model, such as logits `[B, C]`, has a slot for each sequence of a
packed row: `[B, K, C]`. Losses and metrics get it as if each slot were a row, `[B x K, C]`.
"""

from typing import Any

import keras
from keras import ops


def used_slots(x: Any, y: Any) -> Any:
    """Returns by how much rows or slots count, float32; None if each row counts once.

    It is `[B]`, the share of a window in its text, or `[B, K]`, 1 at slots of packed rows with a
    sequence.

    Example:
    >>> import numpy as np
    >>> x = {"sequence_ids": np.array([[1, 1, 2, 0]]), "cls_positions": np.array([[0, 2, 0]])}
    >>> used_slots(x, y=np.array([[2, 0, 0]])).numpy().tolist()
    [[1.0, 1.0, 0.0]]
    """
    share = _input(x, "window_share")
    if share is not None:
        return share
    ids = _input(x, "sequence_ids")
    positions = _input(x, "cls_positions")
    if ids is None or positions is None or y is None:
        return None
    count = ops.max(ids, axis=1, keepdims=True)  # [B, 1]
    slots = ops.arange(ops.shape(positions)[1], dtype=count.dtype)  # [K]
    return ops.cast(slots < count, "float32")


def is_packed(used: Any) -> bool:
    """Returns whether `used_slots` are those of packed rows."""
    return used is not None and len(used.shape) == 2


def slot_weights(model: keras.Model, used: Any, y: Any, sample_weight: Any) -> tuple[dict, dict]:
    """Returns `(counts, weights)` by output, which is None if the model has one.

    `counts` are 1 at slots that count and 0 at others, or the shares of windows; None for other
    rows. `weights` are those given, times the counts.
    """
    all_counts = {}
    all_weights = {}
    for name in y if isinstance(y, dict) else [None]:
        weights = sample_weight
        if name is not None and isinstance(sample_weight, dict):
            weights = sample_weight.get(name)
        counts = None
        if used is not None and is_of_rows(model, name):
            counts = used
            weights = used if weights is None else used * ops.cast(weights, "float32")
        elif weights is not None and 1 < len(weights.shape) < _rank(model, name):
            counts = ops.cast(ops.not_equal(weights, 0), "float32")
        all_counts[name] = counts
        all_weights[name] = weights
    return all_counts, all_weights


def as_labels(values: dict) -> Any:
    """Returns the values of outputs, by name, in the structure of labels."""
    return values[None] if None in values else values


def slots_as_rows(model: keras.Model, values: Any) -> Any:
    """Reshapes labels, outputs or weights of packed rows, `[B, K, ...]`, to `[B x K, ...]`."""

    def rows_of(name, of_output):
        if of_output is None or not is_of_rows(model, name):
            return of_output
        return ops.reshape(of_output, (-1, *ops.shape(of_output)[2:]))

    if not isinstance(values, dict):
        return rows_of(None, values)
    return {name: rows_of(name, of_output) for name, of_output in values.items()}


def is_of_rows(model: keras.Model, name: str | None) -> bool:
    """Returns whether an output, of this name if there are several, has no axis of tokens."""
    return _rank(model, name) == 2


def _rank(model, name):
    output = model.output if name is None else model.output[name]
    return len(output.shape)


def _input(x, name):
    return x.get(name) if isinstance(x, dict) else None
