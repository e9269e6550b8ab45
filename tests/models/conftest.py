"""Fixtures of the models' tests; every test starts from the same seed."""

import functools

import keras
import numpy as np
import pytest

from keras_bert import BertTask


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture(scope="session")
def tf():
    """TensorFlow for `tf.data`, whatever the backend."""
    return pytest.importorskip("tensorflow", reason="pip install tensorflow")


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason='pip install ".[parity]"')


@pytest.fixture(scope="session")
def transformers(torch):
    return pytest.importorskip("transformers", reason='pip install ".[parity]"')


@pytest.fixture(scope="session")
def eager():
    """Compiles a model to run eagerly, by default with SGD: few steps cost less than a graph."""

    def compile_eagerly(model, **arguments):
        if "loss" not in arguments:
            arguments = {**model.default_compile_args(), "optimizer": "sgd", **arguments}
        model.compile(**arguments, run_eagerly=True)
        return model

    return compile_eagerly


@pytest.fixture(scope="session")
def varied():
    """Gives a model weights under which tokens and texts differ."""

    def vary(model):
        generator = np.random.default_rng(5)
        for weight in model.weights:
            if weight.path.endswith(("kernel", "embeddings")):
                weight.assign(generator.normal(0, 0.7, weight.shape))
        return model

    return vary


@pytest.fixture
def eager_compile(monkeypatch):
    """Makes each `compile` of a task compile to run eagerly, also where the library calls it."""
    compile_ = functools.partialmethod(BertTask.compile, run_eagerly=True)
    monkeypatch.setattr(BertTask, "compile", compile_)
