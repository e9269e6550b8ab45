"""Multi-head self-attention as BERT and ModernBERT use it."""

from keras import ops

from keras_bert.kernels.visibility import Visibility
from keras_bert.layers.dense_and_norms import dense
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.rotary import rotated
from keras_bert.layers.scaled_attention import attention, attention_scores
from keras_bert.messages import check_int
from keras_bert.saved import SavedLayer, registered


@registered
class SelfAttention(SavedLayer):
    """Multi-head self-attention with queries, keys and values in one projection.

    Source: Devlin et al. 2019, section 3; `attention_layer` of google-research/bert modeling.py.

    Args:
        num_heads: int, N, a divisor of `hidden_dim`.
        hidden_dim: int, H, the width of a token's vector.
        dropout: float, for the attention probabilities.
        window: int, the largest distance at which a token sees another; None for any.
        use_bias: bool, whether the dense layers have biases.

    Call arguments are those of `EncoderBlock`; `sequence_ids`, `[B, S]` integers, the sequences of
    a packed row, see `attention`; and `rotation`, of `RotaryPositions`; or None.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import SelfAttention
    >>> layer = SelfAttention(num_heads=2, hidden_dim=8)
    >>> tuple(layer(np.ones((1, 3, 8)), padding_mask=np.array([[1, 1, 0]])).shape)
    (1, 3, 8)
    """

    def __init__(
        self,
        num_heads,
        hidden_dim,
        dropout=0.0,
        window=None,
        use_bias=True,
        **kwargs,
    ):
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
        self.window = window
        self.use_bias = use_bias
        options = {"dtype": self.dtype_policy, "use_bias": use_bias}
        self.query_key_value = dense(3 * hidden_dim, "query_key_value", **options)
        policy = self.dtype_policy
        self.probability_dropout = Dropout(dropout, name="probability_dropout", dtype=policy)
        self.output_dense = dense(hidden_dim, "output_dense", **options)

    def build(self, x_shape):
        self.query_key_value.build(x_shape)
        self.output_dense.build(x_shape)

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        position_bias=None,
        rotation=None,
        training=None,
    ):
        query, key, value = self._heads(x, rotation)
        context = attention(
            query=query,
            key=key,
            value=value,
            padding_mask=padding_mask,
            sequence_ids=sequence_ids,
            window=self.window,
            position_bias=position_bias,
            dropout=self.probability_dropout,
            training=training,
            long_rows=rotation is not None,
        )  # [B, N, S, D]
        context = ops.transpose(context, (0, 2, 1, 3))
        return self.output_dense(ops.reshape(context, ops.shape(x)))  # [B, S, H]

    def _heads(self, x, rotation=None):
        """Projects `[B, S, H]` to queries, keys and values, `[B, N, S, D]` each."""
        batch, length, _ = ops.shape(x)
        head_dim = self.hidden_dim // self.num_heads
        shape = (batch, length, 3, self.num_heads, head_dim)
        heads = ops.reshape(self.query_key_value(x), shape)
        heads = ops.transpose(heads, (2, 0, 3, 1, 4))
        query, key, value = ops.unstack(heads, 3)
        if rotation is not None:
            query = rotated(query, rotation)
            key = rotated(key, rotation)
        return query, key, value

    def probabilities(
        self, x, padding_mask=None, sequence_ids=None, position_bias=None, rotation=None
    ):
        """Computes the attention probabilities, float32 `[B, N, S, S]`, for `call`'s x."""
        query, key, _ = self._heads(x, rotation)
        masks = Visibility(padding_mask, sequence_ids, self.window, position_bias)
        return ops.softmax(attention_scores(query, key, masks), axis=-1)

    def compute_output_shape(self, x_shape):
        return x_shape
