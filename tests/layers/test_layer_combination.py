import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.layer_combination import COMBINATIONS, LayerCombination, layer_places

STATES = list(np.random.default_rng(5).normal(size=(3, 2, 5, 4)).astype("float32"))


def test_weights_are_a_softmax_and_a_scale(assert_close):
    layer = LayerCombination("weighted")
    layer(STATES)
    layer.weights_before_softmax.assign(np.log([1.0, 2.0, 5.0]))
    layer.scale.assign(4.0)
    assert_close(layer(STATES), 0.5 * STATES[0] + STATES[1] + 2.5 * STATES[2])


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_half_precision_is_combined_in_float32(combine):
    states = [ops.cast(np.full((1, 2, 2), 1.0), "bfloat16") for _ in range(3)]
    states[0] = states[0] * 256.0  # 258 is none of bfloat16's numbers
    layer = LayerCombination(combine, dtype="mixed_bfloat16")
    combined = layer(states)
    assert len(layer.weights) == (2 if combine == "weighted" else 0)
    assert keras.backend.standardize_dtype(combined.dtype) == "float32"
    expected = {"concat": 256.0, "sum": 258.0}.get(combine, 86.0)
    assert float(ops.convert_to_numpy(combined)[0, 0, 0]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("layers", [1j, object(), [], 3, np.array(3), ops.zeros(())])
def test_what_is_no_list_of_layers_is_refused(layers, refused):
    refused("must be a list", layer_places, layers, num_layers=2)
