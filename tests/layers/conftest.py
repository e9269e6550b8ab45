"""Fixtures of the layers' tests."""

import keras
import numpy as np
import pytest
from keras import ops


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture
def random_weights():
    """Gives a layer weights with no special values: biases that aren't 0, scales that aren't 1."""

    def randomize(layer, deviation=0.5):
        generator = np.random.default_rng(1)
        for weight in layer.trainable_weights:
            weight.assign(generator.normal(0.1, deviation, weight.shape))
        return layer

    return randomize


@pytest.fixture
def gradients(tensorflow):
    """The gradients of a layer's summed squares, by TensorFlow's tape."""

    def compute(layer, *args, **kwargs):
        with tensorflow.GradientTape() as tape:
            loss = ops.sum(ops.square(layer(*args, **kwargs)))
        return tape.gradient(loss, [weight.value for weight in layer.trainable_weights])

    return compute
