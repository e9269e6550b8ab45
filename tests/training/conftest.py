"""Fixtures of the training tests."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import testing


@pytest.fixture
def mixed_bfloat16():
    with testing._policy("mixed_bfloat16"):
        yield


@pytest.fixture
def variable():
    def make(values, name="kernel"):
        return keras.Variable(np.asarray(values, "float32"), name=name, dtype="float32")

    return make


@pytest.fixture(scope="session")
def make_task():
    """Makes `(model, batches)` of known shapes: a run's model, and its own pipeline's."""
    from tests.pairs import examples
    from tests.pairs.factors import PLAIN
    from tests.pairs.models import make_model

    def make(task, **levels):
        run = {**PLAIN, "dtype": "mixed_bfloat16", "task": task, **levels}
        model = make_model(run)
        if task.startswith("pretrainer"):
            return model, examples.corpus_batches(run, next_sentence=True, epochs=None)
        full = keras_bert.Batching(4, pad_to="full", drop_remainder=True)  # "auto" on a TPU
        return model, model.batches(*examples.examples(task, "numbers"), batching=full)

    return make
