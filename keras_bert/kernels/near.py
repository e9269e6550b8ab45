"""Attention to near tokens alone, in blocks: its cost grows with the row, not with its square."""

from keras import ops

from keras_bert.kernels.onednn import takes_onednn
from keras_bert.kernels.query_blocks import cut, joined
from keras_bert.kernels.visibility import HIDDEN, Visibility

FEWEST_BLOCKS = 4
"""Of a row: a block sees three, so fewer cost more than the whole square of scores."""


def takes_blocks(query, key, value, visibility, dropout=None, training=False):
    """Returns whether blocks suit these queries, whose window is far narrower than their rows.

    A graph for rows of any length tells while it runs, by a tensor, or takes blocks in any case.
    """
    window = visibility.window
    length = query.shape[2]
    if window is None or visibility.position_bias is not None:
        return False
    if length is None and not takes_onednn():
        return True
    return ops.shape(query)[2] > FEWEST_BLOCKS * window


def near_attention(attend, query, key, value, visibility, dropout=None, training=False):
    """Computes attention by `attend`, which has the other arguments, called on blocks as rows.

    A block of W = `window` queries sees the 3 W tokens of its own block and its neighbors. Shapes
    and results are those of `attention`; C is the number of blocks of a row.
    """
    window = max(visibility.window, 1)
    batch, _, length, _ = ops.shape(query)

    def blocks(x):
        """Cuts `[B, N, S, D]` into blocks, `[B, C, N, W, D]`, the last one ending in zeros."""
        return ops.transpose(cut(x, window), (0, 2, 1, 3, 4))

    def with_neighbors(x):
        """Joins blocks with those before and after, `[B, C, N, 3 W, D]`; beyond are zeros."""
        x = ops.pad(x, [(0, 0), (1, 1), (0, 0), (0, 0), (0, 0)])
        before = x[:, :-2]
        after = x[:, 2:]
        return ops.concatenate([before, x[:, 1:-1], after], axis=3)

    def as_rows(x):
        return ops.reshape(x, (-1, *x.shape[2:]))

    bias = _hiding(query, visibility, blocks, with_neighbors)
    context = attend(
        as_rows(blocks(query)),
        as_rows(with_neighbors(blocks(key))),
        as_rows(with_neighbors(blocks(value))),
        Visibility(position_bias=as_rows(bias)),
        dropout,
        training,
    )  # [B C, N, W, D]
    context = ops.reshape(context, (batch, ops.shape(bias)[1], *context.shape[1:]))
    return joined(ops.transpose(context, (0, 2, 1, 3, 4)), length)


def _hiding(query, visibility, blocks, with_neighbors):
    """Computes what is added to the scores of blocks, float32 `[B, C, 1, W, 3 W]`."""
    padding_mask, sequence_ids, window, *_ = visibility
    if sequence_ids is not None:
        ids = ops.cast(sequence_ids, "int32") + 1  # 0 is beyond
        ids = blocks(ops.expand_dims(ids, (1, 3)))  # [B, C, 1, W, 1]
        is_seen = ops.equal(ids, ops.swapaxes(with_neighbors(ids), 3, 4))
    else:
        if padding_mask is None:
            padding_mask = ops.ones_like(query[:, 0, :, 0])
        is_token = ops.cast(ops.cast(padding_mask, "bool"), "int32")
        is_token = blocks(ops.expand_dims(is_token, (1, 3)))
        is_seen = ops.swapaxes(with_neighbors(is_token), 3, 4) > 0  # [B, C, 1, 1, 3 W]
    width = max(window, 1)
    queries = ops.expand_dims(ops.arange(width), 1)
    offset = ops.arange(3 * width) - width - queries  # to the key
    is_near = ops.abs(offset) <= window  # [W, 3 W]
    is_hidden = ops.logical_not(ops.logical_and(is_seen, is_near))
    return ops.cast(is_hidden, "float32") * HIDDEN
