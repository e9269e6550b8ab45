"""Exact GELU with a derivative of its own."""

import math

import keras
from keras import ops


def plain_gelu(x):
    """Computes x * P(X <= x) for a normal X."""
    return value_and_parts(x)[0]


def value_and_parts(x):
    """Returns GELU in the dtype of `x`, and `x` and 2 P(X <= x) in at least float32.

    LiteRT has a kernel for this form of the expression, and none for erf.
    """
    dtype = keras.backend.standardize_dtype(x.dtype)
    exact = ops.cast(x, keras.backend.result_type(dtype, "float32"))
    twice = 1.0 + ops.erf(exact * math.sqrt(0.5))
    return ops.cast(0.5 * exact * twice, dtype), exact, twice


@ops.custom_gradient
def with_slope(x):
    """Computes GELU, and its derivative in the same pass: erf(x) is computed and kept once.

    On TensorFlow this is faster than its own gradient, and than the erfc of `tf.nn.gelu`.

    The derivative P(X <= x) + x * p(x), where p is the normal density, is all that the backward
    pass reads. It is kept in the dtype of `x`.
    """
    value, exact, twice = value_and_parts(x)
    density = ops.exp(-0.5 * ops.square(exact)) * math.sqrt(2 / math.pi)  # also twice
    slope = ops.cast(0.5 * (twice + exact * density), x.dtype)

    def gradient(*args, upstream=None):  # PyTorch names the upstream, after the arguments
        return slope * (args[0] if upstream is None else upstream)

    return value, gradient


def gelu_of_torch(x):
    """Computes GELU by PyTorch's kernel, which computes in float32 itself."""
    return keras.activations.gelu(x, approximate=False)
