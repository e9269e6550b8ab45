"""Attention that writes its scores and runs everywhere."""

import functools
from typing import Any, NamedTuple

from keras import ops

HIDDEN = -10000.0
"""Added to the scores of hidden keys: they are 0 after softmax, and rows of padding stay finite."""


class Visibility(NamedTuple):
    """The keys that each query sees, and a bias of their scores; see `attention`."""

    padding_mask: Any = None
    sequence_ids: Any = None
    window: int | None = None
    position_bias: Any = None


def plain_attention(query, key, value, visibility, dropout=None, training=False):
    """Computes attention by products and a softmax; see `attention`."""
    scores = attention_scores(query, key, visibility)
    if training:
        probabilities = softmax_with_small_gradient(scores, value.dtype)
    else:
        probabilities = ops.cast(ops.softmax(scores, axis=-1), value.dtype)
    if dropout is not None:
        probabilities = dropout(probabilities, training=True)
    return ops.matmul(probabilities, value)  # [B, N, S, D]


def attention_scores(query, key, visibility):
    """Computes what the softmax takes, float32 `[B, N, S, S]`, from heads `[B, N, S, D]`."""
    bias = visibility_bias(ops.shape(query)[2], visibility)
    query = query * query.shape[-1] ** -0.5
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
    scores = ops.cast(scores, "float32")  # [B, N, S, S]
    if bias is not None:
        scores = scores + bias
    return scores


def visibility_bias(length, visibility):
    """Computes what is added to scores, float32 `[B or 1, N or 1, S or 1, S]`, or None."""
    padding_mask, sequence_ids, window, bias = visibility
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


def softmax_with_small_gradient(scores, dtype):
    """Computes a softmax of float32 scores `[..., S]` whose gradient keeps the result in `dtype`.

    Autodiff would also keep it in float32. For long sequences, these are the largest tensors that a
    training step stores.
    """

    @ops.custom_gradient
    def softmax(scores):
        probabilities = ops.cast(ops.softmax(scores, axis=-1), dtype)

        def gradient(*args, upstream=None):  # PyTorch gives the upstream by name
            upstream = ops.cast(args[0] if upstream is None else upstream, "float32")
            kept = ops.cast(probabilities, "float32")
            average = ops.sum(upstream * kept, axis=-1, keepdims=True)
            return kept * (upstream - average)

        return probabilities, gradient

    return softmax(scores)
