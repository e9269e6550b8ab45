import keras
import numpy as np

from keras_bert import BertBackbone
from keras_bert.layers.encoder_block import EncoderBlock

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
