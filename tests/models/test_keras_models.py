"""Models that Keras users build on `backbone.input`, as on KerasHub's backbones."""

import keras
import numpy as np
import pytest

from keras_bert import BertTask


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


@pytest.mark.parametrize("kind", ["output", "call", "layers"])
def test_a_task_of_ones_own_takes_packed_rows(make_backbone, randomized, difference, kind):
    backbone = make_backbone(num_layers=2, dropout=0.0)
    model = randomized(BertTask(dict(backbone.input), classifier(backbone, kind).output, backbone))
    alone = {"token_ids": np.array([[2, 7, 3, 0], [2, 9, 8, 3]])}
    alone["padding_mask"] = (alone["token_ids"] != 0).astype("int32")
    packed = {
        "token_ids": np.array([[2, 7, 3, 2, 9, 8, 3, 0]]),
        "sequence_ids": np.array([[1, 1, 1, 2, 2, 2, 2, 0]]),
        "cls_positions": np.array([[0, 3]]),
    }
    assert set(model.input) == {"token_ids", "segment_ids", "padding_mask"}
    expected = keras.ops.convert_to_numpy(model(alone))
    if kind != "layers":  # which read the first token alone
        assert difference(model(packed)[0], expected) < 1e-5
    packed["token_ids"] = packed["token_ids"][:, [0, 1, 2, 6, 5, 4, 3, 7]]  # other words after it
    first = np.ravel(keras.ops.convert_to_numpy(model(packed)))[0]
    assert difference(first, expected[0, 0]) < 1e-5
