import contextlib

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, kernels
from keras_bert.kernels.blocks import shared_functions
from keras_bert.layers.encoder_block import EncoderBlock
from tests.marks import slow

X, UPSTREAM = np.random.default_rng(1).normal(size=(2, 3, 5, 8))
BIAS = np.random.default_rng(2).normal(size=(1, 2, 5, 5))


def test_gradients_are_those_of_without_with_dropout_too(value_and_gradients, assert_close):
    found = []
    for remat in (False, True):
        keras.utils.set_random_seed(1)  # the same weights and the same masks
        block = EncoderBlock(2, 8, 16, dropout=0.3, remat=remat)
        block(X)

        def transform(x, bias, block=block):
            return block(x, position_bias=bias, training=True)

        found.append(value_and_gradients(transform, "float32", UPSTREAM, X, BIAS))
    expected, actual = found
    assert np.abs(expected[2]).max() > 1e-4  # the gradient of the bias
    for own, wanted in zip(actual, expected, strict=True):
        assert_close(own, wanted)


def test_it_can_be_set_later_and_is_kept():
    backbone = BertBackbone(40, 2, 2, 16, 32)
    assert backbone.remat is False
    backbone.remat = True
    assert all(block.remat for block in backbone.blocks)
    assert BertBackbone.from_config(backbone.get_config()).remat is True


@keras.saving.register_keras_serializable(package="tests")
class Block(keras.layers.Layer):
    """A user's block with state and a loss of its own, which counts its calls."""

    calls = 0

    def __init__(self, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.norm = keras.layers.BatchNormalization(momentum=0.5)
        self.dense = keras.layers.Dense(8, activity_regularizer=keras.regularizers.L2(0.1))
        self.dropout = keras.layers.Dropout(rate, seed=3)

    def build(self, shape):
        for layer in (self.norm, self.dense):
            layer.build(shape)

    @kernels.repeated
    def call(self, x, training=None):
        Block.calls += 1
        x = x + self.dropout(self.dense(x), training=training)
        return self.norm(x, training=training)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}


def trained(changed, shares):
    """Trains two steps; returns losses, weights, a prediction and the calls of a train step."""
    keras.utils.set_random_seed(2)
    layers = [Block(name=f"block_{index}") for index in range(3)]
    model = keras.Sequential([keras.Input((5, 8)), *layers])
    changed(layers[1])
    model.compile("sgd", "mse")
    Block.calls = 0
    with shares():
        losses = [model.train_on_batch(X, UPSTREAM) for _ in range(2)]
        calls = Block.calls
        return calls, [losses, model.get_weights(), model.predict(X)]


def nothing(block):
    pass


def freeze(block):
    block.trainable = False


def drop_more(block):
    block.dropout.rate = 0.7


def adapt(block):
    block.dense.enable_lora(2)


def call_otherwise(block):
    block.dense.call = lambda x, training=None: x * 2


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        (nothing, 1),
        (drop_more, 2),
        slow(freeze, 2),
        slow(adapt, 2),
        slow(call_otherwise, 2),
    ],
)
def test_blocks_that_are_alike_are_traced_once(changed, kinds, tensorflow):
    """States, losses and dropout are those of the plain way, to the bit."""
    calls, results = trained(changed, shared_functions)
    plain_calls, expected = trained(changed, contextlib.nullcontext)
    assert plain_calls % 3 == 0 and calls == plain_calls // 3 * kinds
    keras.tree.map_structure(np.testing.assert_array_equal, results, expected)
