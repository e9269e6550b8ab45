import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.gelu import activation_function
from keras_bert.layers.masked_lm_head import MaskedLMHead
from keras_bert.layers.packed_rows import gather_positions

SEQUENCES = np.random.default_rng(4).normal(size=(3, 6, 8)).astype("float32")
POSITIONS = np.array([[1, 4], [0, 0], [5, 2]])


@pytest.fixture
def head(random_weights):
    table = keras.layers.ReversibleEmbedding(11, 8, name="token_embedding")
    table.build()
    head = MaskedLMHead(table)
    head.build(SEQUENCES.shape, POSITIONS.shape)
    return random_weights(head)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_positions_are_gathered_as_numpy_does(dtype):
    expected = np.take_along_axis(SEQUENCES, POSITIONS[:, :, None], axis=1)
    actual = gather_positions(ops.convert_to_tensor(SEQUENCES), POSITIONS.astype(dtype))
    assert np.abs(ops.convert_to_numpy(actual) - expected).max() == 0.0


def test_logits_are_products_with_the_shared_table(assert_close, head):
    chosen = np.take_along_axis(SEQUENCES, POSITIONS[:, :, None], axis=1)
    kernel, bias = (ops.convert_to_numpy(weight) for weight in head.dense.weights)
    x = np.float64(ops.convert_to_numpy(activation_function("gelu")(chosen @ kernel + bias)))
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    gamma, beta = (ops.convert_to_numpy(weight) for weight in head.norm.weights)
    table = ops.convert_to_numpy(head.token_embedding.embeddings)
    expected = (normal * gamma + beta) @ table.T + ops.convert_to_numpy(head.bias)
    assert_close(head(SEQUENCES, POSITIONS), expected)


def test_the_decoder_has_no_table_of_its_own(assert_close, head):
    shapes = [tuple(weight.shape) for weight in head.trainable_weights]
    assert shapes.count((11, 8)) == 1 and (8, 11) not in shapes
    before = ops.convert_to_numpy(head(SEQUENCES, POSITIONS))
    head.token_embedding.embeddings.assign(2 * head.token_embedding.embeddings)
    after = ops.convert_to_numpy(head(SEQUENCES, POSITIONS))
    bias = ops.convert_to_numpy(head.bias)
    assert_close(after - bias, 2 * (before - bias))
