"""How BERT's weights start."""

import keras

EPSILON = 1e-12
"""BERT's LayerNorm epsilon, in the encoder and in the heads (google-research/bert modeling.py)."""


def bert_initializer():
    """A truncated normal of deviation 0.02, as every kernel and embedding of BERT starts."""
    return keras.initializers.TruncatedNormal(stddev=0.02)


def layer_norm(name, epsilon=EPSILON):
    """A LayerNormalization, with BERT's epsilon unless another is asked for."""
    return keras.layers.LayerNormalization(epsilon=epsilon, name=name)


def dense(units, name, activation=None):
    """A Dense layer that starts as BERT's do."""
    return keras.layers.Dense(
        units, activation=activation, kernel_initializer=bert_initializer(), name=name
    )
