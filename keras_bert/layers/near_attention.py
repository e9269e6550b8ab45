"""Attention to near tokens alone, in blocks: its cost grows with the row, not with its square."""

from keras import ops

from keras_bert.layers.plain_attention import HIDDEN, Visibility

FEWEST_BLOCKS = 4
"""Of a row: a block sees three, so fewer cost more than the whole square of scores."""


def takes_blocks(query, visibility):
    """Returns whether blocks suit these queries: a window's is far narrower than their rows."""
    window, length = visibility.window, query.shape[1]
    if window is None or visibility.position_bias is not None:
        return False
    return length is None or length > FEWEST_BLOCKS * window


def near_attention(attend, query, key, value, visibility):
    """Computes attention by `attend(query, key, value, visibility)`, called on blocks as rows.

    A block of W = `window` queries sees the 3 W tokens of its own block and its neighbors. Shapes
    and results are those of `attention`; C is the number of blocks of a row.
    """
    window = max(visibility.window, 1)
    length = ops.shape(query)[1]
    excess = window - 1 - (length + window - 1) % window  # ONNX has another rest of negatives
    rows = ops.shape(query)[0] * ((length + excess) // window)  # B C

    def blocks(x, blank=0):
        """Cuts `[B, S, ...]` into blocks, `[B, C, W, ...]`."""
        others = [(0, 0)] * (len(x.shape) - 2)
        x = ops.pad(x, [(0, 0), (0, excess), *others], constant_values=blank)
        return ops.reshape(x, (ops.shape(x)[0], -1, window, *x.shape[2:]))

    def with_neighbors(x, blank=0):
        """Joins the blocks `[B, C, W, ...]` with those before and after, `[B, C, 3 W, ...]`."""
        others = [(0, 0)] * (len(x.shape) - 2)
        x = ops.pad(x, [(0, 0), (1, 1), *others], constant_values=blank)
        return ops.concatenate([x[:, :-2], x[:, 1:-1], x[:, 2:]], axis=2)

    def as_rows(x):
        return ops.reshape(x, (rows, *x.shape[2:]))

    bias = _hiding(query, visibility, window, blocks, with_neighbors)
    context = attend(
        as_rows(blocks(query)),
        as_rows(with_neighbors(blocks(key))),
        as_rows(with_neighbors(blocks(value))),
        Visibility(position_bias=ops.expand_dims(as_rows(bias), 1)),
    )  # [B C, W, N, D]
    context = ops.reshape(context, (-1, length + excess, *query.shape[2:]))
    return context[:, :length]


def _hiding(query, visibility, window, blocks, with_neighbors):
    """Computes what is added to the scores of blocks, float32 `[B, C, W, 3 W]`."""
    padding_mask, sequence_ids, causal, distance, _ = visibility
    if sequence_ids is not None:
        ids = blocks(ops.cast(sequence_ids, "int32"), blank=-1)
        ids_of_keys = with_neighbors(ids, blank=-1)
        is_seen = ops.equal(ops.expand_dims(ids, 3), ops.expand_dims(ids_of_keys, 2))
    else:
        if padding_mask is None:
            padding_mask = ops.ones_like(query[:, :, 0, 0])
        is_token = with_neighbors(blocks(ops.cast(ops.cast(padding_mask, "bool"), "int32")))
        is_seen = ops.expand_dims(is_token > 0, 2)  # [B, C, 1, 3 W]
    offset = ops.arange(3 * window) - window - ops.expand_dims(ops.arange(window), 1)  # to the key
    is_near = ops.abs(offset) <= distance  # [W, 3 W]
    if causal:
        is_near = ops.logical_and(is_near, offset <= 0)
    is_hidden = ops.logical_not(ops.logical_and(is_seen, is_near))
    return ops.cast(is_hidden, "float32") * HIDDEN
