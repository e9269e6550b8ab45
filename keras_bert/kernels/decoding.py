"""The decoder of masked language modeling as a product with the transposed token table."""

from keras import ops


def is_plain(embedding, x):
    """Returns whether a `ReversibleEmbedding` has one table of floats."""
    is_changed = bool(embedding.quantization_mode or embedding.logit_soft_cap)
    return embedding.tie_weights and not is_changed


def by_rows(embedding, x):
    """Computes `embedding(x, reverse=True)` on TensorFlow.

    With `ops.transpose`, the gradient of the table would be transposed in memory.
    """
    import tensorflow as tf

    dtype = embedding.reverse_dtype or embedding.compute_dtype
    rows = ops.reshape(ops.cast(x, dtype), (-1, x.shape[-1]))  # [B * P, H]
    table = ops.cast(embedding.embeddings, dtype)  # [V, H]
    logits = tf.matmul(rows, table, transpose_b=True)
    return ops.reshape(logits, (*ops.shape(x)[:-1], embedding.input_dim))  # [B, P, V]
