"""Fixtures of the training tests."""

import keras
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture
def variable():
    """Makes a float32 variable of a name, with values."""

    def make(values, name="kernel"):
        values = np.asarray(values, "float32")
        return keras.Variable(values, name=name, dtype="float32")

    return make
