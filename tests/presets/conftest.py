"""Every test of this room starts from the same seed."""

import keras
import pytest


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture
def eagerly(tensorflow):
    """Runs functions without tracing them, which takes longer than a few steps."""
    tensorflow.config.run_functions_eagerly(True)
    yield
    tensorflow.config.run_functions_eagerly(False)
