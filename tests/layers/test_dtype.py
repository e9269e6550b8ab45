"""What layers share: configs with a dtype, and dropout; see `models/test_dtype.py`."""

import keras
import numpy as np
import pytest

from keras_bert.layers.choices import ChoicesAsRows, RowsAsChoices
from keras_bert.layers.dense_and_norms import FeatureNormalization
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import Embeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.layer_combination import LayerCombination
from keras_bert.layers.masked_lm_head import HeadTransform, MaskedLMHead
from keras_bert.layers.packed_rows import ClsVectors
from keras_bert.layers.pooling import Pooling
from keras_bert.layers.self_attention import SelfAttention

X = np.random.default_rng(1).normal(size=(2, 5, 8)).astype("float32")
IDS = np.array([[2, 7, 7, 3, 0], [2, 9, 3, 0, 0]])
MASK = (IDS > 0).astype("int32")
CHOICES = np.ones((2, 2, 5), "int32")


def masked_lm_head(dtype=None):
    table = keras.layers.ReversibleEmbedding(10, 8, name="table", dtype=dtype)
    return MaskedLMHead(table, HeadTransform(8, dtype=dtype), name="head", dtype=dtype)


def layer_of(cls, *arguments):
    return lambda dtype=None: cls(*arguments, name="layer", dtype=dtype)


LAYERS = {  # a function of the dtype, positional inputs, named inputs
    "embeddings": (layer_of(Embeddings, 10, 8, 6), [IDS], {"segment_ids": MASK}),
    "attention": (layer_of(SelfAttention, 2, 8, 0.1), [X], {"padding_mask": MASK}),
    "block": (layer_of(EncoderBlock, 2, 8, 16), [X], {"padding_mask": MASK}),
    "dropout": (layer_of(Dropout, 0.1), [X], {}),
    "masked_lm": (masked_lm_head, [X, IDS % 5], {}),
    "pooling": (layer_of(Pooling, "mean", True), [X], {"padding_mask": MASK}),
    "combination": (layer_of(LayerCombination, "weighted"), [[X, 2 * X]], {}),
    "cls": (layer_of(ClsVectors), [X], {}),
    "features": (layer_of(FeatureNormalization), [X[:, 0]], {}),
    "rows": (layer_of(ChoicesAsRows), [{"token_ids": CHOICES}], {}),
    "choices": (
        layer_of(RowsAsChoices),
        [X[:, :2, :1].reshape(4, 1)],
        {"token_ids": CHOICES, "padding_mask": CHOICES},
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_copy_has_the_same_dtypes(name):
    make, args, kwargs = LAYERS[name]
    layer = make("mixed_bfloat16")
    copy = type(layer).from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    copy(*args, **kwargs)
    assert {part.dtype_policy.name for part in copy._flatten_layers()} == {"mixed_bfloat16"}


@pytest.mark.parametrize("name", ["embeddings", "attention", "block"])
def test_each_dropout_acts_in_training_only(name, randomized, difference):
    make, args, kwargs = LAYERS[name]
    layer = make()
    layer(*args, **kwargs)
    randomized(layer)
    still = layer(*args, **kwargs)
    assert difference(layer(*args, **kwargs, training=False), still) == 0.0
    dropouts = [part for part in layer._flatten_layers() if isinstance(part, Dropout)]
    for each in dropouts:
        for part in dropouts:
            part.rate = 0.5 if part is each else 0.0
        assert difference(layer(*args, **kwargs, training=True), still) > 1e-3, each.path
