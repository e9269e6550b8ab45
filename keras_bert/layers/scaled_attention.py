"""Scaled dot-product attention (Vaswani et al., 2017) over the keys that a query may see."""

from keras import ops

from keras_bert import kernels
from keras_bert.kernels.visibility import Visibility, visibility_bias


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

    A query sees the tokens of its row (`padding_mask`) or of its sequence (`sequence_ids`), except
    those farther away than `window`. Hidden keys get a probability of exactly 0.
    `keras_bert.kernels` lists the kernels.

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
        training: bool, whether gradients are needed.
        long_rows: bool, whether rows may have thousands of tokens. A graph for rows of any length
            then computes their scores in blocks, to save memory.

    Returns:
        `[B, N, S, D]`.

    Example:
    >>> from keras import ops
    >>> from keras_bert.layers import attention
    >>> heads = ops.ones((1, 2, 3, 4))
    >>> tuple(attention(query=heads, key=heads, value=heads).shape)
    (1, 2, 3, 4)
    """
    if not (training and dropout is not None and dropout.rate):
        dropout = None
    visibility = Visibility(padding_mask, sequence_ids, window, position_bias, long_rows)
    arguments = (query, key, value, visibility, dropout, training)
    return kernels.compute("attention", plain_attention, *arguments)


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
    """Computes the input of the softmax, float32 `[B, N, S, S]`, from heads `[B, N, S, D]`."""
    bias = visibility_bias(ops.shape(query)[2], visibility)
    query = query * query.shape[-1] ** -0.5
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
    scores = ops.cast(scores, "float32")  # [B, N, S, S]
    if bias is not None:
        scores = scores + bias
    return scores


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
