"""Packed rows, which hold several sequences each. B rows, S tokens of a row, K sequences of a row.

A model's declared inputs are those of rows with one sequence each, so `backbone.input` is what
users of Keras expect. The inputs of packed rows exist while a model is called, as `training`
does: the layers that tell sequences apart read them here.
"""

import contextlib
import contextvars

from keras import ops

from keras_bert.saved import SavedLayer, registered

_LONGEST = 2**16  # tokens: the upper bound of a packed row whose length a graph doesn't know
_INPUTS = contextvars.ContextVar("packed_rows", default={})  # noqa: B039 (never changed)


@contextlib.contextmanager
def packed_rows(inputs):
    """Gives layers the inputs of packed rows inside a `with` block; without any, nothing changes.

    They are `sequence_ids`, `[B, S]` integers, and perhaps `cls_positions`, `[B, K]`.
    """
    inputs = {name: ops.convert_to_tensor(x, "int32") for name, x in inputs.items()}
    token = _INPUTS.set(inputs or _INPUTS.get())
    try:
        yield
    finally:
        _INPUTS.reset(token)


def packed_input(name):
    """Returns a packed-row input of the model being called, or None.

    Example:
    >>> from keras_bert.layers import packed_input
    >>> packed_input("sequence_ids") is None  # outside of calls
    True
    """
    return _INPUTS.get().get(name)


@registered
class ClsVectors(SavedLayer):
    """Layer that takes the vector of each sequence's [CLS] token.

    Call arguments:
        sequence_output: `[B, S, H]`.

    Returns:
        `[B, H]`, or `[B, K, H]` for packed rows with `cls_positions`; without these, the vector of
        a packed row's first sequence.

    Example:
    >>> from keras import ops
    >>> from keras_bert.layers import ClsVectors
    >>> tuple(ClsVectors()(ops.ones((2, 3, 4))).shape)
    (2, 4)
    """

    def call(self, sequence_output):
        cls_positions = packed_input("cls_positions")
        if cls_positions is None:
            return sequence_output[:, 0, :]
        return gather_positions(sequence_output, cls_positions)


@registered
class MeanVectors(SavedLayer):
    """Layer that averages the vectors of each sequence's tokens.

    Call arguments:
        sequence_output: `[B, S, H]`.
        padding_mask: `[B, S]`, true at tokens, or None; not read for packed rows.

    Returns:
        `[B, H]`, or `[B, K, H]` for packed rows with `cls_positions`.

    Example:
    >>> from keras import ops
    >>> from keras_bert.layers import MeanVectors
    >>> tuple(MeanVectors()(ops.ones((2, 3, 4))).shape)
    (2, 4)
    """

    def call(self, sequence_output, padding_mask=None):
        is_inside = _is_inside(sequence_output, padding_mask)  # [B, K, S]
        shares = ops.cast(is_inside, "float32")
        counts = ops.sum(shares, axis=2, keepdims=True)
        shares = ops.cast(shares / ops.maximum(counts, 1), sequence_output.dtype)
        means = ops.matmul(shares, sequence_output)
        return means[:, 0, :] if packed_input("cls_positions") is None else means


def _is_inside(sequence_output, padding_mask):
    """Computes which tokens belong to each sequence, bool `[B, K, S]`, K = 1 in unpacked rows."""
    sequence_ids = packed_input("sequence_ids")
    if sequence_ids is None:
        if padding_mask is None:
            padding_mask = ops.ones_like(sequence_output[:, :, 0])
        return ops.expand_dims(ops.cast(padding_mask, "bool"), 1)
    cls_positions = packed_input("cls_positions")
    count = 1 if cls_positions is None else ops.shape(cls_positions)[1]
    ids = ops.arange(1, count + 1, dtype="int32")  # [K]
    sequence_ids = ops.expand_dims(ops.cast(sequence_ids, "int32"), 1)  # [B, 1, S]
    return ops.equal(sequence_ids, ops.expand_dims(ids, 1))


def token_positions(token_ids):
    """Returns each token's position in its own sequence, int32 `[B, S]`; `[1, S]` if unpacked.

    Example:
    >>> import numpy as np
    >>> with packed_rows({"sequence_ids": np.array([[1, 1, 1, 2, 2, 0]])}):
    ...     token_positions(None).numpy()
    array([[0, 1, 2, 0, 1, 0]], dtype=int32)
    """
    sequence_ids = packed_input("sequence_ids")
    rows = token_ids if sequence_ids is None else sequence_ids
    positions = ops.arange(ops.shape(rows)[1], dtype="int32")
    if sequence_ids is None:
        return ops.expand_dims(positions, 0)
    is_first = ops.not_equal(sequence_ids, ops.roll(sequence_ids, 1, axis=1))
    starts = ops.where(is_first, positions, 0)  # [B, S]; its running maximum is each token's start
    distance = 1
    while distance < (sequence_ids.shape[1] or _LONGEST):
        before = ops.where(positions >= distance, ops.roll(starts, distance, axis=1), 0)
        starts = ops.maximum(starts, before)
        distance *= 2
    return ops.subtract(positions, starts)


def gather_positions(x, positions):
    """Gathers the vectors of `x` `[B, S, H]` at `positions` `[B, P]`: `[B, P, H]`.

    This is a matrix product with a one-hot matrix. It rounds no more than the dense layer after it,
    and usually not at all. With a sharded batch each device gathers only its own rows, whereas
    `ops.take` would all-gather. The gradient is also a product, which TPUs compute faster than a
    scatter-add.
    """
    chosen = ops.one_hot(positions, ops.shape(x)[1], dtype=x.dtype)  # [B, P, S]
    return ops.matmul(chosen, x)  # [B, P, H]
