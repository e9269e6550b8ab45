"""Rematerialization, which recomputes a layer for its gradients to save memory."""

import keras

from keras_bert.layers.dropout import drawn_seeds, with_seeds


def rematerialize(function, x, dropouts):
    """Computes `function(x)` without keeping intermediate results for the gradients.

    Seeds are drawn once, so that dropout repeats the same mask. (On TensorFlow, `keras.RematScope`
    draws another mask the second time, which makes gradients wrong.)

    Args:
        function: a pure function of one tensor and weights.
        x: a floating-point tensor.
        dropouts: the `Dropout` layers that the function calls.

    Returns:
        The function's result.
    """
    seeds = drawn_seeds(dropouts)

    def again(x):
        with with_seeds(seeds):
            return function(x)

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.recompute_grad(again)(x)
    if keras.backend.backend() == "jax":
        import jax

        return jax.checkpoint(again)(x)
    import torch

    return torch.utils.checkpoint.checkpoint(again, x, use_reentrant=False)
