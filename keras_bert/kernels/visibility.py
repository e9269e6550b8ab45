"""Which keys each query of attention sees."""

import functools
from typing import Any, NamedTuple

from keras import ops

HIDDEN = -10000.0
"""Added to the scores of hidden keys: they are 0 after softmax, and rows of padding stay finite."""


class Visibility(NamedTuple):
    """The keys that each query sees, and a bias of their scores; see `layers.attention`."""

    padding_mask: Any = None
    sequence_ids: Any = None
    window: int | None = None
    position_bias: Any = None
    long_rows: bool = False


def visibility_bias(length, visibility):
    """Computes what is added to scores, float32 `[B or 1, N or 1, S or 1, S]`, or None."""
    padding_mask, sequence_ids, window, bias, _ = visibility
    if bias is not None:
        bias = ops.cast(bias, "float32")
    hidden = []
    if sequence_ids is not None:
        of_queries = ops.expand_dims(sequence_ids, 2)
        of_keys = ops.expand_dims(sequence_ids, 1)
        hidden.append(ops.expand_dims(ops.not_equal(of_queries, of_keys), 1))  # [B, 1, S, S]
    elif padding_mask is not None:
        is_padding = ops.logical_not(ops.cast(padding_mask, "bool"))  # [B, S]
        hidden.append(ops.expand_dims(is_padding, (1, 2)))  # LiteRT has no new axes in slices
    if window is not None:
        positions = ops.arange(length)
        offset = ops.expand_dims(positions, 0) - ops.expand_dims(positions, 1)  # [S, S], to the key
        hidden.append(ops.expand_dims(ops.abs(offset) > window, (0, 1)))
    if not hidden:
        return bias
    is_hidden = functools.reduce(ops.logical_or, hidden)
    hiding = ops.cast(is_hidden, "float32") * HIDDEN
    if bias is None:
        return hiding
    return bias + hiding
