"""Every test of this room starts from the same seed."""

import keras
import pytest


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)
