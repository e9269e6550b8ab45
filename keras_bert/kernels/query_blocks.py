"""Attention of long rows on a CPU, a block of queries at a time: few scores are in memory."""

from keras import ops

from keras_bert.kernels.onednn import takes_onednn

LONG = 1024
"""Queries of a block, at most. The scores of 12 heads and 8,192 keys then take 400 MB."""


def is_long(query, key, value, visibility, dropout=None, training=False):
    """Returns whether to take blocks; a graph for rows of any length tells it by a tensor.

    All queries must see the same keys. Graphs of training keep all scores for the gradient.
    """
    sees_alike = visibility.sequence_ids is None and visibility.position_bias is None
    if not visibility.long_rows or visibility.window is not None or not sees_alike:
        return False
    return takes_onednn() and ops.shape(query)[2] > LONG


def by_queries(attend, query, key, value, visibility, dropout=None, training=False):
    """Computes attention by `attend`, called on C blocks of Q queries one after another.

    Shapes and results are those of `attention`.
    """
    import tensorflow as tf

    length = ops.shape(query)[2]
    count = (length + LONG - 1) // LONG
    size = (length + count - 1) // count
    context = tf.map_fn(
        lambda block: attend(block, key, value, visibility, dropout, training),
        ops.transpose(cut(query, size), (2, 0, 1, 3, 4)),
        parallel_iterations=1,
    )  # [C, B, N, Q, D]
    return joined(ops.transpose(context, (1, 2, 0, 3, 4)), length)


def cut(x, size):
    """Cuts `[B, N, S, D]` into blocks of tokens, `[B, N, C, size, D]`, the last ending in zeros."""
    batch, num_heads, length, head_dim = ops.shape(x)
    count = (length + size - 1) // size  # not -1 below: a batch may be empty
    x = ops.pad(x, [(0, 0), (0, 0), (0, count * size - length), (0, 0)])
    return ops.reshape(x, (batch, num_heads, count, size, head_dim))


def joined(blocks, length):
    """Joins blocks, `[B, N, C, Q, D]`, to rows of `length` tokens, `[B, N, S, D]`."""
    batch, num_heads, count, size, head_dim = ops.shape(blocks)
    rows = ops.reshape(blocks, (batch, num_heads, count * size, head_dim))
    return rows[:, :, :length]
