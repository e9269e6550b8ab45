"""Scaled dot-product attention (Vaswani et al., 2017) over the keys that a query may see."""

from keras_bert.layers.fused_attention import fused_kernel
from keras_bert.layers.plain_attention import plain_attention


def attention(
    query_key_value,
    num_heads,
    *,
    padding_mask=None,
    sequence_ids=None,
    dropout=None,
    causal=False,
    training=False,
):
    """Computes attention, with softmax in float32, by the fastest kernel that runs here.

    A query sees the tokens of its row (`padding_mask`) or of its sequence (`sequence_ids`), all of
    them or those up to its own (`causal`). Hidden keys get a probability of exactly 0. See
    `fused_kernel` for the kernels, which all take these arguments.

    Args:
        query_key_value: `[B, S, 3H]`, queries, then keys, then values; each holds its heads one
            after another.
        num_heads: int, N.
        padding_mask: `[B, S]` integers or booleans, true at tokens, wherever they stand; None if
            nothing is padded.
        sequence_ids: `[B, S]` integers, the number of each token's sequence in a packed row, 0 at
            padding; or None. If given, `padding_mask` isn't read.
        dropout: the `Dropout` layer of the probabilities; or None.
        causal: bool, whether a query sees no later token.
        training: bool, whether gradients will be taken.

    Returns:
        `[B, S, H]`.
    """
    dropout = dropout if dropout is not None and dropout.rate and training else None
    kernel = fused_kernel(query_key_value, num_heads, sequence_ids, dropout) or plain_attention
    return kernel(
        query_key_value,
        num_heads,
        padding_mask=padding_mask,
        sequence_ids=sequence_ids,
        dropout=dropout,
        causal=causal,
        training=training,
    )
