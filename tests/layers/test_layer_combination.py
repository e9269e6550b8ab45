import keras
import numpy as np
from keras import ops

from keras_bert.layers.layer_combination import LayerCombination, layer_places

STATES = list(np.random.default_rng(5).normal(size=(3, 2, 5, 4)).astype("float32"))


def test_weights_are_a_softmax_and_a_scale(assert_close):
    layer = LayerCombination("weighted")
    layer(STATES)
    layer.weights_before_softmax.assign(np.log([1.0, 2.0, 5.0]))
    layer.scale.assign(4.0)
    assert_close(layer(STATES), 0.5 * STATES[0] + STATES[1] + 2.5 * STATES[2])


def test_half_precision_is_combined_in_float32(assert_close):
    states = [ops.cast(np.full((1, 2, 2), x), "bfloat16") for x in (256.0, 1.0, 1.0)]
    for combine in ("sum", "mean", "weighted"):  # 258 is none of bfloat16's numbers
        combined = LayerCombination(combine, dtype="mixed_bfloat16")(states)
        assert keras.backend.standardize_dtype(combined.dtype) == "float32"
        expected = 258.0 if combine == "sum" else 86.0
        assert_close(combined[0, 0, 0], np.float32(expected), name=combine)


def test_layers_are_counted_from_either_end(refused):
    assert layer_places(np.array([0, 2, -1, -3]), num_layers=2) == [0, 2, 2, 0]
    for layer in (3, -4):
        refused(f"layers must be .*; got {layer}", layer_places, [layer], num_layers=2)
    for layers in (1j, object(), [], 3, np.array(3), ops.zeros(())):
        refused("must be a list", layer_places, layers, num_layers=2)
    refused("must be at least 2; got 1", LayerCombination("weighted"), STATES[:1])
