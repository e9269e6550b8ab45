"""KerasHub's models, their presets and their outputs."""

import functools

import numpy as np
import pytest

SIZES = {"num_layers": 2, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}


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
def outputs_of(inputs):
    """Computes a model's outputs in either library, as `{name: array}`."""
    inputs = {**inputs, "mask_positions": np.tile(np.array([[3, 1]], "int32"), (8, 1))}

    def compute(model):
        outputs = model({name: inputs[name] for name in model.input})
        name = "masked_lm" if "mask_positions" in model.input else "outputs"
        return outputs if isinstance(outputs, dict) else {name: outputs}

    return compute
