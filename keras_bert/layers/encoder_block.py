"""One layer of BERT's encoder."""

from keras import ops

from keras_bert import kernels
from keras_bert.layers.dense_and_norms import EPSILON, dense, layer_norm
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.gelu import activation_function
from keras_bert.layers.packed_rows import packed_input
from keras_bert.layers.self_attention import SelfAttention
from keras_bert.messages import check_int
from keras_bert.saved import SavedLayer, registered


@registered
class EncoderBlock(SavedLayer):
    """Self-attention and a feed-forward layer, each with dropout, a residual and a LayerNorm.

    Normalization follows the residual (post-LN), as in the paper.
    Source: Devlin et al. 2019, section 3; `transformer_model` of google-research/bert modeling.py.

    Arguments are those of `BertBackbone`.

    Call arguments:
        x: `[B, S, H]`, as is the result.
        padding_mask: `[B, S]` integers or booleans, true at tokens; None if nothing is padded.
        position_bias: `[1, N, S, S]`, added to the scores of attention; or None.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import EncoderBlock
    >>> block = EncoderBlock(num_heads=2, hidden_dim=8, intermediate_dim=16)
    >>> tuple(block(np.ones((1, 3, 8))).shape)
    (1, 3, 8)
    """

    def __init__(
        self,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.1,
        activation="gelu",
        attention_dropout=None,
        layer_norm_epsilon=EPSILON,
        remat=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_int("intermediate_dim", intermediate_dim)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.activation = activation
        self.attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.remat = remat
        dtype = self.dtype_policy
        self.attention = SelfAttention(
            num_heads, hidden_dim, self.attention_dropout, name="attention", dtype=dtype
        )
        self.attended_dropout = Dropout(dropout, name="attended_dropout", dtype=dtype)
        self.attention_norm = layer_norm("attention_norm", layer_norm_epsilon, dtype)
        self.intermediate_dense = dense(
            intermediate_dim, "intermediate_dense", activation_function(activation), dtype
        )
        self.output_dense = dense(hidden_dim, "output_dense", dtype=dtype)
        self.output_dropout = Dropout(dropout, name="output_dropout", dtype=dtype)
        self.output_norm = layer_norm("output_norm", layer_norm_epsilon, dtype)

    def build(self, x_shape):
        self.attention.build(x_shape)
        self.attention_norm.build(x_shape)
        self.intermediate_dense.build(x_shape)
        self.output_dense.build((*x_shape[:-1], self.intermediate_dim))
        self.output_norm.build(x_shape)

    @kernels.repeated
    def call(self, x, padding_mask=None, position_bias=None, training=None):
        sequence_ids = packed_input("sequence_ids")
        attended = self.attention(x, padding_mask, sequence_ids, position_bias, training=training)
        attended = self.attended_dropout(attended, training=training)
        x = self.attention_norm(ops.add(x, attended), training=training)  # [B, S, H]
        transformed = self.output_dense(self.intermediate_dense(x))
        transformed = self.output_dropout(transformed, training=training)
        return self.output_norm(ops.add(x, transformed), training=training)  # [B, S, H]

    def compute_output_shape(self, x_shape):
        return x_shape
