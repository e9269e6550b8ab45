"""The two forms of GELU that BERT checkpoints use."""

import keras

from keras_bert import kernels
from keras_bert.kernels.gelus import plain_gelu
from keras_bert.saved import registered


@registered
def gelu(x):
    """Computes the exact GELU, x * P(X <= x) for a normal X, in float32 or above.

    In bfloat16, 1 + erf would keep fewer than three digits.
    """
    return kernels.compute("gelu", plain_gelu, x)


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
