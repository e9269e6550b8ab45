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
    "mask_positions": np.array([[3, 6], [1, 0]], "int32"),
}


@pytest.fixture(scope="session")
def their_preset(randomized, tmp_path_factory):
    """Makes and saves a model of KerasHub, once for equal arguments: `(model, folder)`.

    The settings are those of the task, or of the encoder. Copy the folder to change it.
    """
    import keras_hub

    @functools.cache
    def make(task=None, **settings):
        own = settings if task is None else {}
        theirs = keras_hub.models.BertBackbone(30, max_sequence_length=16, **{**SIZES, **own})
        if task is not None:
            settings |= {"num_classes": 3} if task == "BertTextClassifier" else {}
            theirs = getattr(keras_hub.models, task)(theirs, preprocessor=None, **settings)
        randomized(theirs)
        folder = tmp_path_factory.mktemp("theirs")
        theirs.save_to_preset(str(folder))
        return theirs, folder

    return make


@pytest.fixture
def outputs_of():
    """Computes a model's outputs in either library, as `{name: array}`."""

    def compute(model):
        inputs = {name: value for name, value in INPUTS.items() if name in model.input}
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
