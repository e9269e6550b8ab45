"""The layers of ModernBERT's encoder: embeddings, and pre-norm blocks with gates.

Source: Warner et al. 2024, "Smarter, Better, Faster, Longer", section 2 and appendix A;
modeling_modernbert.py of transformers.
"""

from keras import ops

from keras_bert import kernels
from keras_bert.layers.dense_and_norms import dense, layer_norm, table
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import check_length
from keras_bert.layers.gelu import activation_function
from keras_bert.layers.packed_rows import packed_input
from keras_bert.layers.self_attention import SelfAttention
from keras_bert.messages import check_int
from keras_bert.saved import SavedLayer, registered


@registered
class ModernBertEmbeddings(SavedLayer):
    """Token embeddings, with LayerNorm and then dropout; the blocks add the positions.

    Arguments are those of `ModernBertBackbone`. Takes `[B, S]` ids and returns `[B, S, H]`.
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        max_sequence_length=8192,
        dropout=0.0,
        layer_norm_epsilon=1e-5,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_int("vocabulary_size", vocabulary_size)
        check_int("hidden_dim", hidden_dim)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.dropout = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        policy = self.dtype_policy
        self.token_embedding = table(vocabulary_size, hidden_dim, "token_embedding", dtype=policy)
        self.norm = layer_norm("norm", layer_norm_epsilon, policy, use_bias=False)
        self.output_dropout = Dropout(dropout, name="output_dropout", dtype=policy)

    def build(self, token_ids_shape):
        self.token_embedding.build(token_ids_shape)
        self.norm.build((*token_ids_shape, self.hidden_dim))

    def call(self, token_ids, training=None):
        check_length(token_ids, self.max_sequence_length)
        x = self.norm(self.token_embedding(token_ids), training=training)
        return self.output_dropout(x, training=training)

    def compute_output_shape(self, token_ids_shape):
        return (*token_ids_shape, self.hidden_dim)


@registered
class GatedFeedForward(SavedLayer):
    """Feed-forward layer whose activations are multiplied by gates, without biases.

    Source: Shazeer 2020, "GLU Variants Improve Transformer". Arguments are those of
    `ModernBertBackbone`. Takes and returns `[B, S, H]`.
    """

    def __init__(self, hidden_dim, intermediate_dim, dropout=0.0, activation="gelu", **kwargs):
        super().__init__(**kwargs)
        check_int("intermediate_dim", intermediate_dim)
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.activation = activation
        options = {"use_bias": False, "dtype": self.dtype_policy}
        self.activate = activation_function(activation)
        self.values_and_gates = dense(2 * intermediate_dim, "values_and_gates", **options)
        self.gated_dropout = Dropout(dropout, name="gated_dropout", dtype=self.dtype_policy)
        self.output_dense = dense(hidden_dim, "output_dense", **options)

    def build(self, x_shape):
        self.values_and_gates.build(x_shape)
        self.output_dense.build((*x_shape[:-1], self.intermediate_dim))

    def call(self, x, training=None):
        gated = kernels.compute("gated", _gated, self, x)  # [B, S, I]
        return self.output_dense(self.gated_dropout(gated, training=training))

    def compute_output_shape(self, x_shape):
        return x_shape


def _gated(layer, x):
    """Computes the activated values of a `GatedFeedForward`, multiplied by their gates."""
    values, gates = ops.split(layer.values_and_gates(x), 2, axis=-1)
    return layer.activate(values) * gates


@registered
class ModernBertBlock(SavedLayer):
    """Self-attention and a gated feed-forward layer, each after a LayerNorm, with a residual.

    Arguments are those of `ModernBertBackbone`; `window`, int, the largest distance at which a
    token sees another, or None; and `normalizes`, bool, whether attention has a LayerNorm, which
    the first block lacks.

    Call arguments:
        x: `[B, S, H]`, as is the result.
        padding_mask: `[B, S]` integers or booleans, true at tokens; None if nothing is padded.
        rotation: the output of `RotaryPositions`, or None.
    """

    def __init__(
        self,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.0,
        attention_dropout=0.0,
        activation="gelu",
        layer_norm_epsilon=1e-5,
        remat=False,
        window=None,
        normalizes=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.remat = remat
        self.window = window
        self.normalizes = normalizes
        policy = self.dtype_policy
        self.attention_norm = None
        if normalizes:
            self.attention_norm = layer_norm("attention_norm", layer_norm_epsilon, policy, False)
        self.attention = SelfAttention(
            num_heads,
            hidden_dim,
            attention_dropout,
            window=window,
            use_bias=False,
            name="attention",
            dtype=policy,
        )
        self.attended_dropout = Dropout(attention_dropout, name="attended_dropout", dtype=policy)
        self.feed_forward_norm = layer_norm("feed_forward_norm", layer_norm_epsilon, policy, False)
        self.feed_forward = GatedFeedForward(
            hidden_dim,
            intermediate_dim,
            dropout,
            activation,
            name="feed_forward",
            dtype=policy,
        )

    def build(self, x_shape):
        if self.normalizes:
            self.attention_norm.build(x_shape)
        self.attention.build(x_shape)
        self.feed_forward_norm.build(x_shape)
        self.feed_forward.build(x_shape)

    def normalized(self, x, training=None):
        """Computes the input of attention, `[B, S, H]`."""
        return self.attention_norm(x, training=training) if self.normalizes else x

    @kernels.repeated
    def call(self, x, padding_mask=None, rotation=None, training=None):
        attended = self.attention(
            self.normalized(x, training),
            padding_mask,
            packed_input("sequence_ids"),
            rotation=rotation,
            training=training,
        )
        x = ops.add(x, self.attended_dropout(attended, training=training))  # [B, S, H]
        normalized = self.feed_forward_norm(x, training=training)
        return ops.add(x, self.feed_forward(normalized, training=training))

    def compute_output_shape(self, x_shape):
        return x_shape
