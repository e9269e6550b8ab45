"""The encoder: its outputs, its files, its weights."""

import keras
import numpy as np
import pytest
from keras import ops
from keras.quantizers import Int8QuantizationConfig

from keras_bert import Backbone, BertBackbone, ModernBertBackbone


def test_padding_may_be_of_any_dtype_and_all_there_is(backbone, randomized, inputs, difference):
    expected = randomized(backbone)(inputs)
    for dtype in ("bool", "int64", "float32"):
        other = {**inputs, "padding_mask": inputs["padding_mask"].astype(dtype)}
        assert difference(backbone(other), expected) == 0.0
    outputs = backbone({**inputs, "padding_mask": 0 * inputs["padding_mask"]})
    assert all(np.isfinite(ops.convert_to_numpy(values)).all() for values in outputs.values())


def test_relative_biases_change_the_outputs(make_backbone, varied, inputs, difference):
    backbone = varied(make_backbone(relative_bias=True))
    before = backbone(inputs)["sequence_output"]
    [bias] = backbone.embeddings.relative_bias.variables
    bias.assign(np.zeros(bias.shape))
    assert difference(backbone(inputs)["sequence_output"], before) > 1e-3


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_quantized_models_answer_alike(make_classifier, inputs, difference):
    for settings in ({}, {"activation_quantizer": None}):
        model = make_classifier(3)
        model.head.kernel.assign(np.eye(16, 3))
        exact = model.backbone(inputs), model(inputs)
        model.quantize(config=Int8QuantizationConfig(**settings))
        assert "int8" in {keras.backend.standardize_dtype(w.dtype) for w in model.weights}
        assert 0 < difference(exact, (model.backbone(inputs), model(inputs))) < 0.1


def test_only_the_inputs_of_a_model_are_in_its_graph(backbone):
    with pytest.raises(ValueError, match="sequence_ids.*backbone.input"):
        packed = keras.Input((None,), dtype="int32", name="sequence_ids")
        backbone({"token_ids": backbone.input["token_ids"], "sequence_ids": packed})


PAPERS = {
    BertBackbone: {
        "dropout": 0.1,
        "max_sequence_length": 512,
        "layer_norm_epsilon": 1e-12,
    },
    ModernBertBackbone: {"window": 64, "global_every": 3, "layer_norm_epsilon": 1e-5},
}
PAPERS[BertBackbone] |= {
    "num_segments": 2,
    "activation": "gelu",
    "pooler_activation": "tanh",
}
PAPERS[ModernBertBackbone] |= {"max_sequence_length": 8192, "global_theta": 160_000}
PAPERS[ModernBertBackbone] |= {
    "local_theta": 10_000,
    "dropout": 0.0,
    "activation": "gelu",
}


def test_defaults_are_those_of_the_papers_and_sizes_tell_the_number_of_weights():
    for architecture, defaults in PAPERS.items():
        model = architecture(30, 2, 2, 16, 32)
        config = model.get_config()
        assert config == {**config, **defaults}
        weights = model.count_params()
        assert 0.9 * weights < architecture.least_values(config) <= weights
        assert Backbone.least_values(config) == 30 * 16
