"""LayerNorm with a gradient of its own, faster on TensorFlow's CPU.

GPUs and TPUs would round the products that the gradient is made of, even in float32.
"""

import functools

import keras
from keras import ops

from keras_bert.kernels.onednn import computes_on_cpus


def trains_on_cpus(layer, inputs, training=False):
    """Returns whether gradients are taken on CPUs alone."""
    return bool(training) and computes_on_cpus()


def with_own_gradient(layer, inputs, training=True):
    """Normalizes the inputs of a LayerNormalization, `[..., H]`."""
    import tensorflow as tf

    gamma = tf.convert_to_tensor(layer.gamma)  # a variable can't be an argument
    beta = tf.convert_to_tensor(layer.beta) if layer.center else tf.zeros_like(gamma)
    return normalized(layer.epsilon)(inputs, gamma, beta)


@functools.cache
def normalized(epsilon):
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
