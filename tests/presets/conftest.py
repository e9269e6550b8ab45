"""Every test of this room starts from the same seed."""

import keras
import pytest


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture
def eagerly():
    """Runs functions of TensorFlow without tracing them, which takes longer than a few steps."""
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow

    tensorflow.config.run_functions_eagerly(True)
    yield
    tensorflow.config.run_functions_eagerly(False)
