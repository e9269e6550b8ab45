"""Dense layers and normalizations, with BERT's initial weights and epsilon."""

import keras
import numpy as np
from keras import ops

from keras_bert import kernels
from keras_bert.messages import check_number
from keras_bert.saved import registered

EPSILON = 1e-12
"""BERT's LayerNorm epsilon, in the encoder and in the heads (google-research/bert modeling.py)."""


def bert_initializer(deviation=0.02):
    """Returns BERT's initializer for kernels and embeddings: truncated at two deviations."""
    return keras.initializers.TruncatedNormal(stddev=deviation)


def dense(units, name, activation=None, dtype=None, use_bias=True):
    """Makes a Dense layer with BERT's initializer.

    Example:
    >>> from keras_bert.layers import dense
    >>> dense(2, "head").kernel_initializer.stddev
    0.02
    """
    return Dense(
        units,
        activation,
        use_bias,
        kernel_initializer=bert_initializer(),
        name=name,
        dtype=dtype,
    )


@registered
class Dense(keras.layers.Dense):
    """`keras.layers.Dense` with faster kernels for sequences.

    Example:
    >>> from keras import ops
    >>> from keras_bert.layers import Dense
    >>> tuple(Dense(2)(ops.ones((1, 3, 4))).shape)
    (1, 3, 2)
    """

    def call(self, inputs, training=None):
        return kernels.compute("dense", keras.layers.Dense.call, self, inputs, training)

    def quantize(self, mode=None, type_check=True, config=None):
        super().quantize(mode, type_check=False, config=config)  # Keras would refuse a subclass


def table(rows, width, name, layer=keras.layers.ReversibleEmbedding, dtype=None):
    """Makes an embedding layer with BERT's initializer."""
    return layer(rows, width, embeddings_initializer=bert_initializer(), name=name, dtype=dtype)


def layer_norm(name, epsilon=EPSILON, dtype=None, use_bias=True):
    """Makes a LayerNormalization, by default with BERT's epsilon.

    Example:
    >>> from keras_bert.layers import layer_norm
    >>> layer_norm("norm").epsilon
    1e-12
    """
    check_number("layer_norm_epsilon", epsilon, above=0)
    return LayerNorm(epsilon=epsilon, center=use_bias, name=name, dtype=dtype)


@registered
class LayerNorm(keras.layers.LayerNormalization):
    """Keras's LayerNormalization over the last axis, with kernels for TensorFlow's CPU.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import LayerNorm
    >>> LayerNorm()(np.array([[1.0, 3.0]])).numpy().round(2)
    array([[-1.,  1.]], dtype=float32)
    """

    def call(self, inputs, training=None):
        return kernels.compute("layer_norm", _layer_norm, self, inputs, training)


def _layer_norm(layer, inputs, training=None):
    return keras.layers.LayerNormalization.call(layer, inputs)


@registered
class FeatureNormalization(keras.layers.Normalization):
    """`keras.layers.Normalization` whose mean and variance follow its weights.

    Keras's layer computes with copies, which become stale when weights are assigned or restored
    from a checkpoint. A constant column is only shifted to 0, not scaled.

    `[B, K]` numbers keep their shape. Before `adapt`, they stay unchanged.
    """

    was_adapted = False

    def adapt(self, data):
        """Computes the mean and variance of an array `[n, K]` of finite numbers, in float64."""
        data = np.asarray(data, "float64")
        if not self.built:
            self.build(data.shape)
        deviation = data.std(axis=0)
        is_constant = deviation <= 1e-7 * np.abs(data).max(axis=0)  # the resolution of float32
        is_out_of_range = abs(np.log10(deviation + 1e-99)) > 18
        for column in np.flatnonzero(is_out_of_range & ~is_constant):
            raise ValueError(
                f"The numbers of column {column} of features deviate by {deviation[column]:.3g}, "
                "whose square is out of float32's range: give them in other units."
            )
        self.was_adapted = True  # also where mean and variance are those of a new layer
        self.adapt_mean.assign(data.mean(axis=0))
        self.adapt_variance.assign(np.where(is_constant, 1.0, deviation**2))

    @property
    def is_adapted(self):
        """Whether `adapt` was called, on this layer or on the one that its weights come from."""
        mean = ops.convert_to_numpy(self.adapt_mean)
        variance = ops.convert_to_numpy(self.adapt_variance)
        return bool(self.was_adapted or mean.any() or (variance != 1).any())

    def call(self, inputs):
        return (inputs - self.adapt_mean) / ops.sqrt(self.adapt_variance)

    def finalize_state(self):
        pass  # no copies
