"""The two forms of GELU that BERT checkpoints use."""

import math

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu(x):
    """Computes the exact GELU, x * P(X <= x) for a normal X, in float32.

    In bfloat16, 1 + erf would keep fewer than three digits. On TensorFlow, training is faster with
    erf than with the erfc of `tf.nn.gelu`.
    """
    exact = ops.cast(x, "float32")
    exact = 0.5 * exact * (1.0 + ops.erf(exact * math.sqrt(0.5)))
    return ops.cast(exact, keras.backend.standardize_dtype(x.dtype))


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu_approximate(x):
    """Computes the tanh form of GELU, which differs by at most 4.7e-4 from the exact (erf) one.

    Google's code has used this form since February 2019. The paper uses the exact form, and so do
    checkpoints whose Hugging Face configuration has `"gelu"`.
    """
    return keras.activations.gelu(x, approximate=True)


def activation_function(name):
    """Returns the function for `"gelu"`, `"gelu_approximate"` or the name of a Keras activation."""
    own = {"gelu": gelu, "gelu_approximate": gelu_approximate}
    if not isinstance(name, str) and not callable(name):
        raise ValueError(
            "activation must be 'gelu', 'gelu_approximate' or the name of a Keras activation; got "
            f"{name!r}."
        )
    if isinstance(name, str) and name in own:
        return own[name]
    return keras.activations.get(name)
