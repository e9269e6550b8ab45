"""Models that Keras users build on `backbone.input`, as on KerasHub's backbones."""

import keras
import pytest


def classifier(backbone, kind):
    """A classifier as users write it: on the backbone's output, on a call, on its layers."""
    if kind == "output":
        pooled = backbone.output["pooled_output"]
    elif kind == "call":
        pooled = backbone(backbone.input)["pooled_output"]
    else:
        pooled = backbone.pooler(backbone.hidden_states(backbone.input)[-1][:, 0])
    return keras.Model(backbone.input, keras.layers.Dense(2, name="head")(pooled))


def test_only_the_inputs_of_a_model_are_in_its_graph(backbone):
    with pytest.raises(ValueError, match="sequence_ids.*backbone.input"):
        packed = keras.Input((None,), dtype="int32", name="sequence_ids")
        backbone({"token_ids": backbone.input["token_ids"], "sequence_ids": packed})
