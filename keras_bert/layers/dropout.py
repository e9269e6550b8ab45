"""Dropout with different random numbers on each replica."""

import keras

from keras_bert import kernels
from keras_bert.kernels.dropping import ReplicaSeeds
from keras_bert.messages import check_number
from keras_bert.saved import SavedLayer, registered


@registered
class Dropout(SavedLayer):
    """Dropout with different random numbers on each replica.

    Under a `tf.distribute.Strategy`, `keras.layers.Dropout` uses the same seed on all replicas, so
    they drop the same positions. This layer adds the replica's number to the seed.

    On TensorFlow and on JAX's CPU it draws 16 random bits per value, half as many as Keras. The
    rate is therefore rounded to a multiple of 2^-16, and the kept values are scaled by the rounded
    rate.

    Args:
        rate: float in [0, 1), the fraction of values that training sets to 0.
        seed: int, or None.
        **kwargs: arguments of `keras.layers.Layer`.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import Dropout
    >>> Dropout(0.5, seed=1)(np.ones((2, 2))).numpy()
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        check_number("The dropout rate", rate, at_least=0, below=1)
        self.rate = rate
        self.seed = seed
        if rate > 0:
            self.seed_generator = ReplicaSeeds(seed)
        self.supports_masking = True
        self.built = True

    def call(self, inputs, training=False):
        if not training or not self.rate:
            return inputs
        arguments = (inputs, self.rate, self.seed_generator)
        return kernels.compute("dropout", _drop, *arguments)

    def compute_output_shape(self, input_shape):
        return input_shape


def _drop(inputs, rate, seed):
    return keras.random.dropout(inputs, rate, seed=seed)
