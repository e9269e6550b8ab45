"""BERT's initial weights and its LayerNorm."""

import keras

from keras_bert.arguments import check_number

EPSILON = 1e-12
"""BERT's LayerNorm epsilon, in the encoder and in the heads (google-research/bert modeling.py)."""


def bert_initializer():
    """Returns BERT's initializer for kernels and embeddings: a truncated normal, deviation 0.02."""
    return keras.initializers.TruncatedNormal(stddev=0.02)


def layer_norm(name, epsilon=EPSILON, dtype=None):
    """Makes a LayerNormalization, by default with BERT's epsilon."""
    check_number("layer_norm_epsilon", epsilon, at_least=0, exclusive=True)
    return keras.layers.LayerNormalization(epsilon=epsilon, name=name, dtype=dtype)


def dense(units, name, activation=None, dtype=None):
    """Makes a Dense layer with BERT's initializer."""
    return keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=bert_initializer(),
        name=name,
        dtype=dtype,
    )
