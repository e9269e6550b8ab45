"""The head of masked language modeling and its transform."""

from keras import ops

from keras_bert import kernels
from keras_bert.layers.dense_and_norms import EPSILON, dense, layer_norm
from keras_bert.layers.gelu import activation_function
from keras_bert.layers.packed_rows import gather_positions
from keras_bert.saved import SavedLayer, registered


def _decoded(embedding, x):
    return embedding(x, reverse=True)


@registered
class HeadTransform(SavedLayer):
    """A dense layer, an activation and LayerNorm, before the last layer of a head.

    Args:
        units: int, U, the width of the result.
        activation: the encoder's activation.
        layer_norm_epsilon: float, added to the variance in the LayerNorm.
        use_bias: bool, whether the dense layer and the LayerNorm have biases.

    Takes `[..., H]` and returns `[..., U]`.

    Example:
    >>> from keras import ops
    >>> from keras_bert.layers import HeadTransform
    >>> tuple(HeadTransform(2)(ops.ones((1, 3, 4))).shape)
    (1, 3, 2)
    """

    def __init__(
        self, units, activation="gelu", layer_norm_epsilon=EPSILON, use_bias=True, **kwargs
    ):
        super().__init__(**kwargs)
        self.units = units
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.use_bias = use_bias
        policy = self.dtype_policy
        self.dense = dense(units, "dense", activation_function(activation), policy, use_bias)
        self.norm = layer_norm("norm", layer_norm_epsilon, policy, use_bias)

    def build(self, x_shape):
        self.dense.build(x_shape)
        self.norm.build((*x_shape[:-1], self.units))

    def call(self, x, training=None):
        return self.norm(self.dense(x), training=training)

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)


@registered
class MaskedLMHead(SavedLayer):
    """Masked-LM head: logits over the vocabulary at the masked positions.

    A transform to the token table's width, then a product with the transposed table, plus a bias.
    Source: Devlin et al. 2019, section 3.1; `get_masked_lm_output` of google-research/bert
    run_pretraining.py.

    Args:
        token_embedding: the encoder's `keras.layers.ReversibleEmbedding`, whose table is shared.
        transform: a layer from `[B, P, H]` to `[B, P, E]`, such as a `HeadTransform`.

    Call arguments:
        sequence_output: `[B, S, H]`.
        mask_positions: `[B, P]` int32 in `[0, S)`.

    Returns:
        Logits `[B, P, V]`, float32; in training in the compute dtype, since the loss reads and
        writes them several times.

    Example:
    >>> import keras
    >>> import numpy as np
    >>> from keras_bert.layers import HeadTransform, MaskedLMHead
    >>> table = keras.layers.ReversibleEmbedding(10, 8)
    >>> tuple(MaskedLMHead(table, HeadTransform(8))(np.ones((1, 3, 8)), np.array([[1]])).shape)
    (1, 1, 10)
    """

    def __init__(self, token_embedding, transform, **kwargs):
        super().__init__(**kwargs)
        self.token_embedding = token_embedding
        self.transform = transform

    def build(self, sequence_output_shape, mask_positions_shape=None):
        if not self.token_embedding.built:  # not shared with an encoder
            self.token_embedding.build(mask_positions_shape)
        if not self.transform.built:
            self.transform.build(sequence_output_shape)
        shape = (self.token_embedding.input_dim,)
        self.bias = self.add_weight(shape, "zeros", "float32", name="bias", autocast=False)

    def call(self, sequence_output, mask_positions, training=None):
        x = gather_positions(sequence_output, mask_positions)  # [B, P, H]
        logits = kernels.compute("decode", _decoded, self.token_embedding, self.transform(x))
        logits = ops.cast(logits, "float32") + self.bias
        return ops.cast(logits, self.compute_dtype) if training else logits
