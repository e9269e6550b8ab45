"""Losses and metrics of packed rows, which hold several sequences. B rows, K slots of a row.

An output with two axes in a model, such as logits `[B, C]`, has a slot for each sequence of a
packed row: `[B, K, C]`. Losses and metrics get it as if each slot were a row, `[B x K, C]`, and
weights that are 0 at unused slots.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops


def used_slots(x: Any, y: Any) -> Any:
    """Returns float32 `[B, K]`, 1 at slots with a sequence; None unless there are slots and labels.

    Example:
    >>> import numpy as np
    >>> x = {"sequence_ids": np.array([[1, 1, 2, 0]]), "cls_positions": np.array([[0, 2, 0]])}
    >>> used_slots(x, y=np.array([[2, 0, 0]])).numpy().tolist()
    [[1.0, 1.0, 0.0]]
    """
    ids = _input(x, "sequence_ids")
    positions = _input(x, "cls_positions")
    if ids is None or positions is None or y is None:
        return None
    count = ops.max(ids, axis=1, keepdims=True)  # [B, 1]
    slots = ops.arange(ops.shape(positions)[1], dtype=count.dtype)  # [K]
    return ops.cast(slots < count, "float32")


def sequences_per_row(x: Any, total: Callable) -> Any:
    """Returns the mean number of sequences in a row of the global batch; 1 if rows aren't packed.

    `total` sums a float32 scalar over all replicas.
    """
    ids = _input(x, "sequence_ids")
    if ids is None:
        return 1.0
    counts = ops.cast(ops.max(ids, axis=1), "float32")  # [B]
    rows = total(ops.cast(ops.size(counts), "float32"))
    return ops.divide_no_nan(total(ops.sum(counts)), rows)


def slot_weights(model: keras.Model, used: Any, y: Any, sample_weight: Any) -> Any:
    """Returns weights in the structure of labels: those given, times 0 at unused slots."""

    def weights_of(name):
        weights = sample_weight
        if name is not None and isinstance(sample_weight, dict):
            weights = sample_weight.get(name)
        if not has_slots(model, name):
            return weights
        if weights is None:
            return used
        return used * ops.cast(weights, "float32")

    return _by_output(weights_of, y)


def slots_as_rows(model: keras.Model, values: Any) -> Any:
    """Reshapes labels, outputs or weights with slots, `[B, K, ...]`, to `[B x K, ...]`."""

    def rows_of(name):
        of_output = values if name is None else values[name]
        if of_output is None or not has_slots(model, name):
            return of_output
        return ops.reshape(of_output, (-1, *ops.shape(of_output)[2:]))

    return _by_output(rows_of, values)


def has_slots(model: keras.Model, name: str | None) -> bool:
    """Returns whether an output, of this name if there are several, has slots in packed rows."""
    output = model.output if name is None else model.output[name]
    return len(output.shape) == 2


def _by_output(function, structure):
    if not isinstance(structure, dict):
        return function(None)
    return {name: function(name) for name in structure}


def _input(x, name):
    return x.get(name) if isinstance(x, dict) else None
