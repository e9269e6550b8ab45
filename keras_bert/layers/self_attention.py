"""Multi-head self-attention (Vaswani et al., 2017) as BERT uses it."""

import keras
from keras import ops

from keras_bert.arguments import check_int
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.initializer import dense

PADDED_KEY_BIAS = -10000.0
"""Added to the scores of padded keys: they are 0 after softmax, and rows of padding stay finite."""


def padding_bias(padding_mask):
    """Returns the bias that hides padding from attention, `[B, 1, 1, S]` float32.

    Args:
        padding_mask: `[B, S]` integers or booleans, true at tokens; None if nothing is padded.
    """
    if padding_mask is None:
        return None
    bias = (1.0 - ops.cast(padding_mask, "float32")) * PADDED_KEY_BIAS  # [B, S]
    return ops.expand_dims(bias, (1, 2))  # [B, 1, 1, S]; LiteRT has no new axes in slices


def attention(query, key, value, bias=None, dropout=None):
    """Computes scaled dot-product attention, with softmax in float32.

    Args:
        query: `[B, N, S, D]`.
        key: `[B, N, S, D]`.
        value: `[B, N, S, D]`.
        bias: float32, broadcastable to `[B, N, S, S]`, added to the scaled scores; or None.
        dropout: function to apply to the probabilities `[B, N, S, S]`; or None.

    Returns:
        `[B, N, S, D]` in the dtype of `value`.
    """
    scale = query.shape[-1] ** -0.5
    scores = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2)))  # [B, N, S, S]
    scores = ops.cast(scores, "float32")
    if bias is not None:
        scores = scores + bias
    probabilities = ops.cast(ops.softmax(scores, axis=-1), value.dtype)
    if dropout is not None:
        probabilities = dropout(probabilities)
    return ops.matmul(probabilities, value)  # [B, N, S, D]


@keras.saving.register_keras_serializable(package="keras_bert")
class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention with queries, keys and values in one projection.

    Source: Devlin et al. 2019, section 3; `attention_layer` of google-research/bert modeling.py.

    Args:
        num_heads: int, N, a divisor of `hidden_dim`.
        hidden_dim: int, H.
        dropout: float, for the attention probabilities.

    Call arguments:
        x: `[B, S, H]`.
        padding_mask: `[B, S]` integers or booleans, true at tokens; None if nothing is padded.

    Returns:
        `[B, S, H]`.

    Raises:
        ValueError: if `num_heads` doesn't divide `hidden_dim`.

    Example:
    >>> import numpy as np
    >>> layer = SelfAttention(num_heads=2, hidden_dim=8)
    >>> tuple(layer(np.zeros((1, 5, 8), "float32")).shape)
    (1, 5, 8)
    """

    def __init__(self, num_heads, hidden_dim, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        check_int("num_heads", num_heads)
        check_int("hidden_dim", hidden_dim)
        if hidden_dim % num_heads:
            raise ValueError(
                f"hidden_dim must be a multiple of num_heads; got hidden_dim={hidden_dim} and "
                f"num_heads={num_heads}. BERT's sizes have one head per 64 units."
            )
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.dropout = dropout
        self.query_key_value = dense(3 * hidden_dim, "query_key_value", dtype=self.dtype_policy)
        self.probability_dropout = Dropout(
            dropout, name="probability_dropout", dtype=self.dtype_policy
        )
        self.output_dense = dense(hidden_dim, "output_dense", dtype=self.dtype_policy)

    def build(self, x_shape, padding_mask_shape=None):
        self.query_key_value.build(x_shape)
        self.output_dense.build(x_shape)

    def call(self, x, padding_mask=None, training=None):
        query, key, value = (
            self._split_heads(part) for part in ops.split(self.query_key_value(x), 3, axis=-1)
        )  # [B, N, S, D]
        context = attention(
            query,
            key,
            value,
            bias=padding_bias(padding_mask),
            dropout=lambda p: self.probability_dropout(p, training=training),
        )
        context = ops.transpose(context, (0, 2, 1, 3))  # [B, S, N, D]
        return self.output_dense(ops.reshape(context, ops.shape(x)))  # [B, S, H]

    def _split_heads(self, x):
        batch, length = ops.shape(x)[:2]
        x = ops.reshape(x, (batch, length, self.num_heads, self.hidden_dim // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, N, S, D]

    def compute_output_shape(self, x_shape, padding_mask_shape=None):
        return x_shape

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "dropout": self.dropout,
        }
