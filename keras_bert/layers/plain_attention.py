"""Attention that writes its scores and runs everywhere."""

from keras import ops

HIDDEN = -10000.0
"""Added to the scores of hidden keys: they are 0 after softmax, and rows of padding stay finite."""


def plain_attention(
    query_key_value,
    num_heads,
    *,
    padding_mask=None,
    sequence_ids=None,
    dropout=None,
    causal=False,
    training=False,
):
    """Computes attention by products and a softmax; see `attention`."""
    query, key, value = split_heads(query_key_value, num_heads)  # [B, S, N, D]
    scores = attention_scores(query, key, padding_mask, sequence_ids, causal)
    value = ops.transpose(value, (0, 2, 1, 3))  # [B, N, S, D]
    if training:
        probabilities = softmax_with_small_gradient(scores, value.dtype)
    else:
        probabilities = ops.cast(ops.softmax(scores, axis=-1), value.dtype)
    if dropout is not None:
        probabilities = dropout(probabilities, training=True)
    context = ops.transpose(ops.matmul(probabilities, value), (0, 2, 1, 3))  # [B, S, N, D]
    batch, length, width = ops.shape(query_key_value)
    return ops.reshape(context, (batch, length, width // 3))


def attention_scores(query, key, padding_mask=None, sequence_ids=None, causal=False):
    """Computes what the softmax takes, float32 `[B, N, S, S]`, from heads `[B, S, N, D]`."""
    query, key = (ops.transpose(heads, (0, 2, 1, 3)) for heads in (query, key))  # [B, N, S, D]
    scores = ops.matmul(query * query.shape[-1] ** -0.5, ops.transpose(key, (0, 1, 3, 2)))
    scores = ops.cast(scores, "float32")  # [B, N, S, S]
    bias = visibility_bias(padding_mask, sequence_ids, ops.shape(scores)[2] if causal else None)
    return scores if bias is None else scores + bias


def split_heads(query_key_value, num_heads):
    """Splits `[B, S, 3H]` into queries, keys and values, `[B, S, N, D]` each."""
    batch, length, width = ops.shape(query_key_value)
    parts = ops.split(query_key_value, 3, axis=-1)
    return [ops.reshape(x, (batch, length, num_heads, width // 3 // num_heads)) for x in parts]


def visibility_bias(padding_mask=None, sequence_ids=None, causal_length=None):
    """Returns the bias that hides keys: float32 `[B, 1, 1, S]` or `[B or 1, 1, S, S]`, or None.

    See `attention` for the masks. With a `causal_length`, S, later keys are hidden too.
    """
    bias = _mask_bias(padding_mask, sequence_ids)
    if causal_length is None:
        return bias
    places = ops.arange(causal_length)
    is_later = ops.greater(ops.expand_dims(places, 0), ops.expand_dims(places, 1))  # [S, S]
    later = ops.expand_dims(ops.cast(is_later, "float32") * HIDDEN, (0, 1))
    return later if bias is None else ops.minimum(bias, later)


def _mask_bias(padding_mask, sequence_ids):
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
