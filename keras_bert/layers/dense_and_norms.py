"""Dense layers and normalizations, with BERT's initial weights and epsilon."""

import functools

import keras
import numpy as np
from keras import ops

from keras_bert.layers.cpu_graph import computes_on_cpus, takes_onednn, unknown_zeros
from keras_bert.messages import check_number
from keras_bert.saved import registered

EPSILON = 1e-12
"""BERT's LayerNorm epsilon, in the encoder and in the heads (google-research/bert modeling.py)."""


def bert_initializer(deviation=0.02):
    """Returns BERT's initializer for kernels and embeddings: a normal, cut at two deviations."""
    return keras.initializers.TruncatedNormal(stddev=deviation)


def dense(units, name, activation=None, dtype=None, use_bias=True):
    """Makes a Dense layer with BERT's initializer."""
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
    """Keras's Dense, applied to rows `[B x S, H]` on TensorFlow.

    There, a matrix product adds the bias and applies GELU before it writes its results. Keras's
    product of `[B, S, H]` ends in a reshape, which keeps them apart.
    """

    def call(self, inputs, training=None):
        if keras.backend.backend() != "tensorflow" or len(inputs.shape) < 3:
            return super().call(inputs, training=training)
        rows = ops.reshape(inputs, (-1, inputs.shape[-1]))
        outputs = super().call(rows, training=training)
        return ops.reshape(outputs, (*ops.shape(inputs)[:-1], self.units))

    def quantize(self, mode=None, type_check=True, config=None):
        super().quantize(mode, type_check=False, config=config)  # Keras asks subclasses to agree


def table(rows, width, name, layer=keras.layers.ReversibleEmbedding, dtype=None):
    """Makes an embedding layer with BERT's initializer."""
    return layer(rows, width, embeddings_initializer=bert_initializer(), name=name, dtype=dtype)


def layer_norm(name, epsilon=EPSILON, dtype=None, use_bias=True):
    """Makes a LayerNormalization, by default with BERT's epsilon."""
    check_number("layer_norm_epsilon", epsilon, above=0)
    return LayerNorm(epsilon=epsilon, center=use_bias, name=name, dtype=dtype)


@registered
class LayerNorm(keras.layers.LayerNormalization):
    """Keras's LayerNormalization over the last axis, faster on TensorFlow's CPU.

    There, training takes its own gradient; GPUs and TPUs round the products that it is made of,
    even in float32. Inference takes oneDNN's kernel, where that computes.
    """

    def call(self, inputs, training=None):
        if keras.backend.backend() != "tensorflow":
            return super().call(inputs)
        if training and computes_on_cpus():
            import tensorflow as tf

            gamma = tf.convert_to_tensor(self.gamma)  # a variable can't be an argument
            beta = tf.convert_to_tensor(self.beta) if self.center else tf.zeros_like(gamma)
            return _normalized(self.epsilon)(inputs, gamma, beta)
        if inputs.dtype == "float32" and takes_onednn():
            beta = self.beta if self.center else None
            return _normalized_by_onednn(inputs, self.gamma, beta, self.epsilon)
        return super().call(inputs)


def _normalized_by_onednn(inputs, gamma, beta, epsilon):
    """Normalizes `[..., H]` in the form that TensorFlow replaces by one kernel of oneDNN.

    The form is that of Keras 2, rows as channels of a batch normalization; see `FindMklLayerNorm`
    in TensorFlow's remapper.cc.
    """
    import tensorflow as tf

    shape = tf.shape(inputs)
    rows = tf.reduce_prod(shape[:-1])
    normalized, *_ = tf.raw_ops.FusedBatchNormV3(
        x=tf.reshape(inputs, (1, -1, inputs.shape[-1], 1)),
        scale=tf.ones([rows]),
        offset=tf.zeros([rows]),
        mean=tf.zeros([0]),
        variance=tf.zeros([0]),
        epsilon=epsilon,
        data_format="NCHW",
        is_training=True,
    )
    if beta is None:
        beta = unknown_zeros(gamma)
    return tf.ensure_shape(tf.reshape(normalized, shape) * gamma + beta, inputs.shape)


@functools.cache
def _normalized(epsilon):
    """Returns a function that normalizes `[..., H]`, with `gamma` and `beta` `[H]`.

    Its gradient keeps the inputs and two numbers a row. For the normalized x_hat = (x - mean) /
    deviation and the gradient g of its scaled values, the gradient of x is

        (g - average(g) - x_hat * average(g * x_hat)) / deviation

    All sums are products with a vector, which read the values once.
    """

    @ops.custom_gradient
    def normalize(inputs, gamma, beta):
        dtype = keras.backend.result_type(inputs.dtype, "float32")
        x = ops.cast(inputs, dtype)
        scale = ops.cast(gamma, dtype)
        mean, variance = ops.moments(x, axes=-1, keepdims=True)  # [..., 1]
        inverse = ops.rsqrt(variance + epsilon)  # [..., 1]
        factor = inverse * scale
        outputs = x * factor + (ops.cast(beta, dtype) - mean * factor)

        def gradient(*args, upstream=None):  # PyTorch names the upstream, after the arguments
            upstream = args[0] if upstream is None else upstream
            width = inputs.shape[-1]
            g = ops.reshape(ops.cast(upstream, dtype), (-1, width))  # [R, H]
            x = ops.reshape(ops.cast(inputs, dtype), (-1, width))
            deviation = ops.reshape(inverse, (-1, 1))  # [R, 1]
            x_hat = (x - ops.reshape(mean, (-1, 1))) * deviation
            product = g * x_hat
            weights = ops.reshape(scale / width, (width, 1))
            average = ops.matmul(g, weights)  # [R, 1]
            slope = ops.matmul(product, weights)
            to_inputs = (g * scale - (x_hat * slope + average)) * deviation
            to_inputs = ops.reshape(to_inputs, ops.shape(inputs))
            ones = ops.ones((1, ops.shape(g)[0]), dtype)
            to_gamma = ops.matmul(ones, product)[0]  # [H]
            to_beta = ops.matmul(ones, g)[0]
            return (
                ops.cast(to_inputs, inputs.dtype),
                ops.cast(to_gamma, gamma.dtype),
                ops.cast(to_beta, beta.dtype),
            )

        return ops.cast(outputs, inputs.dtype), gradient

    return normalize


@registered
class FeatureNormalization(keras.layers.Normalization):
    """`keras.layers.Normalization` whose mean and variance follow its weights.

    Keras's layer computes with copies, which become stale when weights are assigned or restored
    from a checkpoint. A constant column is only shifted to 0, not scaled.

    `[B, K]` numbers keep their shape. Before `adapt`, they stay unchanged.
    """

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
        self.adapt_mean.assign(data.mean(axis=0))
        self.adapt_variance.assign(np.where(is_constant, 1.0, deviation**2))

    @property
    def is_adapted(self):
        """Whether the mean or variance differs from a new layer's."""
        mean = ops.convert_to_numpy(self.adapt_mean)
        variance = ops.convert_to_numpy(self.adapt_variance)
        return bool(mean.any() or (variance != 1).any())

    def call(self, inputs):
        return (inputs - self.adapt_mean) / ops.sqrt(self.adapt_variance)

    def finalize_state(self):
        pass  # no copies
