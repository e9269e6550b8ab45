"""The two forms of GELU that BERT checkpoints use."""

import math

import keras
from keras import ops

from keras_bert.saved import registered


@registered
def gelu(x):
    """Computes the exact GELU, x * P(X <= x) for a normal X, in float32 or above.

    In bfloat16, 1 + erf would keep fewer than three digits. On TensorFlow, training is faster with
    erf than with the erfc of `tf.nn.gelu`, and with a gradient of its own than with TensorFlow's.
    PyTorch's kernel computes in float32 itself.
    """
    if keras.backend.backend() == "torch" and ops.is_tensor(x):
        return keras.activations.gelu(x, approximate=False)
    if keras.backend.backend() == "tensorflow" and ops.is_tensor(x):
        return _with_slope(x)
    return _value_and_parts(x)[0]


def _value_and_parts(x):
    """Returns GELU in the dtype of `x`, and `x` and 2 P(X <= x) in at least float32.

    LiteRT has a kernel for this form of the expression, and none for erf.
    """
    dtype = keras.backend.standardize_dtype(x.dtype)
    exact = ops.cast(x, keras.backend.result_type(dtype, "float32"))
    twice = 1.0 + ops.erf(exact * math.sqrt(0.5))
    return ops.cast(0.5 * exact * twice, dtype), exact, twice


@ops.custom_gradient
def _with_slope(x):
    """Computes GELU, and its derivative in the same pass: erf(x) is computed and kept once.

    The derivative P(X <= x) + x * p(x), where p is the normal density, is all that the backward
    pass reads. It is kept in the dtype of `x`.
    """
    value, exact, twice = _value_and_parts(x)
    density = ops.exp(-0.5 * ops.square(exact)) * math.sqrt(2 / math.pi)  # also twice
    slope = ops.cast(0.5 * (twice + exact * density), x.dtype)

    def gradient(*args, upstream=None):  # PyTorch names the upstream, after the arguments
        return slope * (args[0] if upstream is None else upstream)

    return value, gradient


@registered
def gelu_approximate(x):
    """Computes the tanh form of GELU, which differs by at most 4.7e-4 from the exact (erf) one.

    Google's code has used this form since February 2019. The paper uses the exact form, and so do
    checkpoints whose Hugging Face configuration has `"gelu"`.
    """
    return keras.activations.gelu(x, approximate=True)


def activation_function(name):
    """Returns the function for `"gelu"`, `"gelu_approximate"` or the name of a Keras activation."""
    if not isinstance(name, str):
        raise ValueError(f"activation must be the name of an activation; got {name!r}.")
    if name == "gelu":
        return gelu
    if name == "gelu_approximate":
        return gelu_approximate
    return keras.activations.get(name)
