"""Fixtures of the layers' tests."""

import keras
import pytest
from keras import ops


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture
def gradients(tensorflow):
    """The gradients of a layer's summed squares, by TensorFlow's tape."""

    def compute(layer, *args, **kwargs):
        with tensorflow.GradientTape() as tape:
            loss = ops.sum(ops.square(layer(*args, **kwargs)))
        return tape.gradient(loss, [weight.value for weight in layer.trainable_weights])

    return compute
