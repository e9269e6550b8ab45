"""Dropout by 16 random bits a value, half as many as Keras draws."""

import keras
import numpy as np
from keras import ops


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


def dropout_of_tensorflow(inputs, rate, seeds):
    """Drops values of a tensor; see `layers.Dropout`."""
    return _dropped(_drawn_by_tensorflow, inputs, rate, seeds)


def dropout_of_jax(inputs, rate, seeds):
    """Drops values of an array; see `layers.Dropout`."""
    return _dropped(_drawn_by_jax, inputs, rate, seeds)


def _dropped(draw, inputs, rate, seeds):
    dropped = min(max(round(rate * 2**16), 1), 2**16 - 1)
    keep = draw(inputs, seeds.next(), dropped)
    scale = 2**16 / (2**16 - dropped)
    scaled = inputs * ops.cast(scale, inputs.dtype)
    return ops.where(keep, scaled, ops.cast(0, inputs.dtype))


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
