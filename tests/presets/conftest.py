"""What the tests of presets share."""

import keras
import pytest


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
