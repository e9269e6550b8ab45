"""Attention to near tokens alone, in blocks: its cost grows with the row, not with its square."""

from keras import ops

from keras_bert.layers.cpu_graph import takes_onednn
from keras_bert.layers.plain_attention import HIDDEN, Visibility

FEWEST_BLOCKS = 4
"""Of a row: a block sees three, so fewer cost more than the whole square of scores."""


def takes_blocks(query, visibility):
    """Returns whether blocks suit these queries, whose window is far narrower than their rows.

    A graph for rows of any length tells while it runs, by a tensor, or takes blocks in any case.
    """
    window, length = visibility.window, query.shape[2]
    if window is None or visibility.position_bias is not None:
        return False
    if length is None and not takes_onednn():
        return True
    return ops.shape(query)[2] > FEWEST_BLOCKS * window


def near_attention(attend, query, key, value, visibility):
    """Computes attention by `attend(query, key, value, visibility)`, called on blocks as rows.

    A block of W = `window` queries sees the 3 W tokens of its own block and its neighbors. Shapes
    and results are those of `attention`; C is the number of blocks of a row.
    """
    window = max(visibility.window, 1)
    batch, num_heads, length, head_dim = ops.shape(query)
    excess = window - 1 - (length + window - 1) % window  # ONNX has another rest of negatives

    def blocks(x):
        """Cuts `[B, N, S, D]` into blocks, `[B, C, N, W, D]`, the last one ending in zeros."""
        x = ops.pad(x, [(0, 0), (0, 0), (0, excess), (0, 0)])
        x = ops.reshape(x, (batch, x.shape[1], -1, window, x.shape[3]))
        return ops.transpose(x, (0, 2, 1, 3, 4))

    def with_neighbors(x):
        """Joins blocks with those before and after, `[B, C, N, 3 W, D]`; beyond are zeros."""
        x = ops.pad(x, [(0, 0), (1, 1), (0, 0), (0, 0), (0, 0)])
        return ops.concatenate([x[:, :-2], x[:, 1:-1], x[:, 2:]], axis=3)

    def as_rows(x):
        return ops.reshape(x, (-1, *x.shape[2:]))

    bias = _hiding(query, visibility, blocks, with_neighbors)
    context = attend(
        as_rows(blocks(query)),
        as_rows(with_neighbors(blocks(key))),
        as_rows(with_neighbors(blocks(value))),
        Visibility(position_bias=as_rows(bias)),
    )  # [B C, N, W, D]
    context = ops.reshape(context, (batch, -1, *context.shape[1:]))
    context = ops.transpose(context, (0, 2, 1, 3, 4))
    context = ops.reshape(context, (batch, num_heads, length + excess, head_dim))
    return context[:, :, :length]


def _hiding(query, visibility, blocks, with_neighbors):
    """Computes what is added to the scores of blocks, float32 `[B, C, 1, W, 3 W]`."""
    padding_mask, sequence_ids, causal, window, _ = visibility
    if sequence_ids is not None:
        ids = blocks(ops.expand_dims(ops.cast(sequence_ids, "int32"), (1, 3)) + 1)  # 0 is beyond
        is_seen = ops.equal(ids, ops.swapaxes(with_neighbors(ids), 3, 4))
    else:
        if padding_mask is None:
            padding_mask = ops.ones_like(query[:, 0, :, 0])
        is_token = ops.cast(ops.cast(padding_mask, "bool"), "int32")
        is_token = with_neighbors(blocks(ops.expand_dims(is_token, (1, 3))))
        is_seen = ops.swapaxes(is_token, 3, 4) > 0  # [B, C, 1, 1, 3 W]
    width = max(window, 1)
    offset = ops.arange(3 * width) - width - ops.expand_dims(ops.arange(width), 1)  # to the key
    is_near = ops.abs(offset) <= window  # [W, 3 W]
    if causal:
        is_near = ops.logical_and(is_near, offset <= 0)
    is_hidden = ops.logical_not(ops.logical_and(is_seen, is_near))
    return ops.cast(is_hidden, "float32") * HIDDEN
