import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.gelu import activation_function
from keras_bert.layers.masked_lm_head import MaskedLMHead
from keras_bert.layers.packed_rows import gather_positions

SEQUENCES = np.random.default_rng(4).normal(size=(3, 6, 8)).astype("float32")
POSITIONS = np.array([[1, 4], [0, 0], [5, 2]])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_positions_are_gathered_as_numpy_does(dtype):
    expected = np.take_along_axis(SEQUENCES, POSITIONS[:, :, None], axis=1)
    actual = gather_positions(ops.convert_to_tensor(SEQUENCES), POSITIONS.astype(dtype))
    assert np.abs(ops.convert_to_numpy(actual) - expected).max() == 0.0


def test_logits_are_products_with_the_shared_table(assert_close, randomized):
    table = keras.layers.ReversibleEmbedding(11, 8, name="token_embedding")
    table.build()
    head = MaskedLMHead(table)
    head.build(SEQUENCES.shape, POSITIONS.shape)
    randomized(head)
    chosen = np.take_along_axis(SEQUENCES, POSITIONS[:, :, None], axis=1)
    kernel, bias = (ops.convert_to_numpy(weight) for weight in head.dense.weights)
    x = np.float64(ops.convert_to_numpy(activation_function("gelu")(chosen @ kernel + bias)))
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    gamma, beta = (ops.convert_to_numpy(weight) for weight in head.norm.weights)
    embeddings = ops.convert_to_numpy(table.embeddings)
    expected = (normal * gamma + beta) @ embeddings.T + ops.convert_to_numpy(head.bias)
    assert_close(head(SEQUENCES, POSITIONS), expected)
