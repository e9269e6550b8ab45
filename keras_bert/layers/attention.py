"""Scaled dot-product attention (Vaswani et al., 2017) over the keys that a query may see."""

from keras_bert import kernels
from keras_bert.kernels.visibility import Visibility
from keras_bert.layers.plain_attention import plain_attention


def attention(
    *,
    query,
    key,
    value,
    padding_mask=None,
    sequence_ids=None,
    window=None,
    position_bias=None,
    dropout=None,
    training=False,
    long_rows=False,
):
    """Computes attention, with softmax in float32, by the fastest kernel that runs here.

    A query sees the tokens of its row (`padding_mask`) or of its sequence (`sequence_ids`), without
    those far from it (`window`). Hidden keys get a probability of exactly 0. `keras_bert.kernels`
    lists the kernels.

    Args:
        query: `[B, N, S, D]`.
        key: `[B, N, S, D]`.
        value: `[B, N, S, D]`.
        padding_mask: `[B, S]` integers or booleans, true at tokens, wherever they stand; None if
            nothing is padded.
        sequence_ids: `[B, S]` integers, the number of each token's sequence in a packed row, 0 at
            padding; or None. If given, `padding_mask` isn't read.
        window: int, the largest distance between a query and a key that it sees; None for any.
        position_bias: `[1, N, S, S]`, added to the scores of queries and keys; or None.
        dropout: the `Dropout` layer of the probabilities; or None.
        training: bool, whether gradients will be taken.
        long_rows: bool, whether rows may have thousands of tokens. A graph for rows of any length
            then computes their scores in blocks, to save memory.

    Returns:
        `[B, N, S, D]`.
    """
    if not (training and dropout is not None and dropout.rate):
        dropout = None
    visibility = Visibility(padding_mask, sequence_ids, window, position_bias, long_rows)
    arguments = (query, key, value, visibility, dropout, training)
    return kernels.compute("attention", plain_attention, *arguments)
