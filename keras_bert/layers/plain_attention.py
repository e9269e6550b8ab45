"""Attention that writes its scores and runs everywhere."""

from keras import ops

from keras_bert.kernels.visibility import visibility_bias


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
