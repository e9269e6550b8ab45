"""Scaled dot-product attention (Vaswani et al., 2017) over the keys that a query may see."""

from keras import ops

HIDDEN = -10000.0
"""Added to the scores of hidden keys: they are 0 after softmax, and rows of padding stay finite."""


def attention(
    query, key, value, padding_mask=None, sequence_ids=None, dropout=None, training=False
):
    """Computes attention, with softmax in float32.

    A query sees the tokens of its row (`padding_mask`) or of its sequence (`sequence_ids`). Hidden
    keys get a probability of exactly 0.

    Args:
        query: `[B, N, S, D]`.
        key: `[B, N, S, D]`.
        value: `[B, N, S, D]`.
        padding_mask: `[B, S]` integers or booleans, true at tokens; None if nothing is padded.
        sequence_ids: `[B, S]` integers, the number of each token's sequence in a packed row, 0 at
            padding; or None. If given, `padding_mask` isn't read.
        dropout: function to apply to the probabilities `[B, N, S, S]`; or None.
        training: bool, whether gradients will be taken.

    Returns:
        `[B, N, S, D]` in the dtype of `value`.
    """
    scale = query.shape[-1] ** -0.5
    scores = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2)))  # [B, N, S, S]
    scores = ops.cast(scores, "float32")
    bias = visibility_bias(padding_mask, sequence_ids)
    if bias is not None:
        scores = scores + bias
    if training:
        probabilities = softmax_with_small_gradient(scores, value.dtype)
    else:
        probabilities = ops.cast(ops.softmax(scores, axis=-1), value.dtype)
    if dropout is not None:
        probabilities = dropout(probabilities)
    return ops.matmul(probabilities, value)  # [B, N, S, D]


def visibility_bias(padding_mask=None, sequence_ids=None):
    """Returns the bias that hides keys: float32 `[B, 1, 1, S]` or `[B, 1, S, S]`, or None.

    See `attention` for the arguments.
    """
    if sequence_ids is not None:
        hidden = ops.not_equal(ops.expand_dims(sequence_ids, 2), ops.expand_dims(sequence_ids, 1))
        return ops.expand_dims(ops.cast(hidden, "float32") * HIDDEN, 1)  # [B, 1, S, S]
    if padding_mask is None:
        return None
    bias = (1.0 - ops.cast(padding_mask, "float32")) * HIDDEN  # [B, S]
    return ops.expand_dims(bias, (1, 2))  # [B, 1, 1, S]; LiteRT has no new axes in slices


def softmax_with_small_gradient(scores, dtype):
    """Computes a softmax in float32 of which gradients keep only the result, in `dtype`.

    Autodiff would also keep it in float32. Of all that a training step keeps, these are the largest
    tensors if sequences are long.

    Args:
        scores: float32 `[..., S]`.
        dtype: str, of the result.
    """

    @ops.custom_gradient
    def softmax(scores):
        probabilities = ops.cast(ops.softmax(scores, axis=-1), dtype)

        def gradient(*args, upstream=None):  # PyTorch gives the upstream by name
            upstream = ops.cast(args[0] if upstream is None else upstream, "float32")
            kept = ops.cast(probabilities, "float32")
            return kept * (upstream - ops.sum(upstream * kept, axis=-1, keepdims=True))

        return probabilities, gradient

    return softmax(scores)
