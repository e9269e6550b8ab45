"""KerasHub's models, their presets and their outputs."""

import functools

import keras
import numpy as np
import pytest

SIZES = {"num_layers": 2, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}
INPUTS = {
    "token_ids": np.array([[2, 7, 9, 4, 3, 8, 29, 3], [2, 4, 3, 0, 0, 0, 0, 0]], "int32"),
    "segment_ids": np.array([[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0]], "int32"),
}
POSITIONS = {"mask_positions": np.array([[3, 6], [1, 0]], "int32")}


@pytest.fixture(scope="session")
def their_backbone():
    """Makes KerasHub's BERT of the encoder's sizes, with random weights."""
    import keras_hub

    def make(**settings):
        return keras_hub.models.BertBackbone(30, max_sequence_length=16, **{**SIZES, **settings})

    return make


@pytest.fixture(scope="session")
def their_task(their_backbone):
    """Makes one of KerasHub's tasks on such a BERT."""
    import keras_hub

    def make(task, preprocessor=None, **settings):
        more = {"BertTextClassifier": {"num_classes": 3}}.get(task, {})
        cls = getattr(keras_hub.models, task)
        return cls(backbone=their_backbone(), preprocessor=preprocessor, **{**more, **settings})

    return make


@pytest.fixture(scope="session")
def their_preset(their_backbone, their_task, randomized, tmp_path_factory):
    """Makes and saves a model of KerasHub, once for equal arguments: `(model, folder)`.

    Copy the folder to change it.
    """

    @functools.cache
    def make(task=None, **settings):
        build = their_backbone if task is None else functools.partial(their_task, task)
        theirs = randomized(build(**settings))
        folder = tmp_path_factory.mktemp("theirs")
        theirs.save_to_preset(str(folder))
        return theirs, folder

    return make


def inputs_of(model):
    return {name: value for name, value in {**INPUTS, **POSITIONS}.items() if name in model.input}


@pytest.fixture
def outputs_of():
    """Computes a model's outputs in either library, as `{name: array}`."""

    def compute(model):
        inputs = inputs_of(model)
        outputs = model(inputs)
        if not isinstance(outputs, dict):
            outputs = {"masked_lm" if "mask_positions" in inputs else "outputs": outputs}
        return {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}

    return compute


@pytest.fixture
def assert_same_outputs(outputs_of, assert_close):
    def check(ours, theirs, **bound):
        ours, theirs = outputs_of(ours), outputs_of(theirs)
        assert theirs.keys() <= ours.keys()
        for name, expected in theirs.items():
            assert np.ptp(expected) > 0.1, "outputs differ between inputs"
            assert_close(ours[name], expected, name=name, **bound)

    return check
