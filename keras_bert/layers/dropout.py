"""Dropout with different random numbers on each replica."""

import threading

import keras
import numpy as np
from keras import ops

from keras_bert.messages import check_number
from keras_bert.saved import SavedLayer, registered

_given = threading.local()  # each replica is traced in its own thread


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
        if keras.backend.backend() == "torch":
            return keras.random.dropout(inputs, self.rate, seed=self._seeds())
        dropped = round(self.rate * 2**16)
        dropped = min(max(dropped, 1), 2**16 - 1)
        draw = _drawn_by_jax if keras.backend.backend() == "jax" else _drawn_by_tensorflow
        keep = draw(inputs, self._seeds().next(), dropped)
        scale = 2**16 / (2**16 - dropped)
        scaled = inputs * ops.cast(scale, inputs.dtype)
        return ops.where(keep, scaled, ops.cast(0, inputs.dtype))

    def _seeds(self):
        return getattr(_given, "seeds", {}).get(id(self), self.seed_generator)

    def compute_output_shape(self, input_shape):
        return input_shape


class ReplicaSeeds(keras.random.SeedGenerator):  # its variable is named after it: no underscore
    """Seeds that differ between replicas."""

    def next(self, ordered=True):
        seed = super().next(ordered)
        if keras.backend.backend() != "tensorflow":
            return seed
        import tensorflow as tf

        if tf.distribute.get_strategy().num_replicas_in_sync == 1:
            return seed
        context = tf.distribute.get_replica_context()
        replica = 0 if context is None else context.replica_id_in_sync_group
        return seed + ops.cast([replica, 0], seed.dtype)


class _GivenSeed(keras.random.SeedGenerator):
    """A seed that was already drawn from a generator."""

    def __init__(self, generator):  # skips Keras's __init__, which makes a variable
        self.drawn = generator.next()
        self._initial_seed = generator.get_config()["seed"]  # PyTorch's dropout reads it

    def next(self, ordered=True):
        return self.drawn


def with_drawn_seeds(function, dropouts):
    """Draws the seeds of `Dropout` layers once, so that each call of `function` drops alike."""
    seeds = {id(layer): _GivenSeed(layer.seed_generator) for layer in dropouts if layer.rate}

    def again(*arguments):
        _given.seeds = seeds
        try:
            return function(*arguments)
        finally:
            _given.seeds = {}

    return again


def _drawn_by_tensorflow(like, seed, dropped):
    """Draws which values to keep: all but `dropped` of 2^16."""
    import tensorflow as tf

    size = tf.size(like)
    shape = [(size + 1) // 2]
    pairs = tf.random.stateless_uniform(shape, seed, minval=None, maxval=None, dtype=tf.uint32)
    bits = tf.bitcast(pairs, tf.uint16)
    bits = tf.reshape(bits, [-1])[:size]
    return tf.reshape(bits, tf.shape(like)) >= np.uint16(dropped)


def _drawn_by_jax(like, seed, dropped):
    """As on TensorFlow; a CPU takes XLA's generator, whose program compiles in half the time."""
    import jax

    def on_cpu(seed):
        state = ops.concatenate([seed, seed])
        _, bits = jax.lax.rng_bit_generator(state, like.shape, "uint16")
        return bits >= np.uint16(dropped)

    def elsewhere(seed):
        return jax.random.bernoulli(seed, 1 - dropped / 2**16, like.shape)

    return jax.lax.platform_dependent(seed, cpu=on_cpu, default=elsewhere)
