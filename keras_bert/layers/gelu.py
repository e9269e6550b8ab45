"""BERT's two activations."""

import keras


@keras.saving.register_keras_serializable(package="keras_bert")
def gelu_approximate(x):
    """The tanh form of GELU, at most 4.7e-4 from the exact (erf) one.

    Google's code computes this form since February 2019; the exact one is the paper's and that of
    checkpoints whose Hugging Face configuration says `"gelu"`.
    """
    return keras.activations.gelu(x, approximate=True)


def activation_function(name):
    """The function that `activation="gelu"`, `"gelu_approximate"` or a Keras name stands for."""
    if name == "gelu_approximate":
        return gelu_approximate
    return keras.activations.get(name)
