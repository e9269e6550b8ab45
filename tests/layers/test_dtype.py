"""What layers share: dtypes that reach sub-layers, configs, gradients and dropout."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.choices import ChoicesAsRows, RowsAsChoices
from keras_bert.layers.dense_and_norms import FeatureNormalization
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import Embeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.layer_combination import LayerCombination
from keras_bert.layers.masked_lm_head import MaskedLMHead
from keras_bert.layers.pooling import Pooling
from keras_bert.layers.self_attention import SelfAttention

X = np.random.default_rng(1).normal(size=(2, 5, 8)).astype("float32")
IDS = np.array([[2, 7, 7, 3, 0], [2, 9, 3, 0, 0]])
MASK = (IDS > 0).astype("int32")
CHOICES = np.ones((2, 2, 5), "int32")
POLICIES = ["float32", "mixed_float16", "mixed_bfloat16", "bfloat16"]


def masked_lm_head(dtype=None):
    table = keras.layers.ReversibleEmbedding(10, 8, name="table", dtype=dtype)
    return MaskedLMHead(table, name="head", dtype=dtype)


def layer_of(cls, *arguments):
    return lambda dtype=None: cls(*arguments, name="layer", dtype=dtype)


# Name: a function of the dtype, positional inputs, named inputs, whether outputs are always
# float32.
LAYERS = {
    "embeddings": (layer_of(Embeddings, 10, 8, 6), [IDS], {"segment_ids": MASK}, False),
    "attention": (layer_of(SelfAttention, 2, 8, 0.1), [X], {"padding_mask": MASK}, False),
    "block": (layer_of(EncoderBlock, 2, 8, 16), [X], {"padding_mask": MASK}, False),
    "remat": (
        layer_of(EncoderBlock, 2, 8, 16, 0.0, "gelu", 0.0, 1e-12, True),
        [X],
        {"padding_mask": MASK, "training": True},
        False,
    ),
    "dropout": (layer_of(Dropout, 0.1), [X], {}, False),
    "masked_lm": (masked_lm_head, [X, IDS % 5], {}, True),
    "pooling": (layer_of(Pooling, "mean", True), [X], {"padding_mask": MASK}, True),
    "combination": (layer_of(LayerCombination, "weighted"), [[X, 2 * X]], {}, True),
    "features": (layer_of(FeatureNormalization), [X[:, 0]], {}, False),
    "rows": (layer_of(ChoicesAsRows), [{"token_ids": CHOICES}], {}, None),
    "choices": (
        layer_of(RowsAsChoices),
        [X[:, :2, :1].reshape(4, 1)],
        {"token_ids": CHOICES, "padding_mask": CHOICES},
        True,
    ),
}


def dtypes(outputs):
    return [keras.backend.standardize_dtype(output.dtype) for output in keras.tree.flatten(outputs)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", LAYERS)
def test_a_dtype_acts_as_the_global_policy(name, policy, under, randomized, difference):
    make, args, kwargs, is_float32 = LAYERS[name]
    layer, expected = make(policy), under(policy, make)
    outputs = layer(*args, **kwargs)
    expected(*args, **kwargs)
    randomized(layer)
    for weight, other in zip(layer.weights, expected.weights, strict=True):
        assert (weight.path, weight.dtype) == (other.path, other.dtype)
        other.assign(weight)
    outputs, wanted = layer(*args, **kwargs), expected(*args, **kwargs)
    assert dtypes(outputs) == dtypes(wanted)
    values = (
        [ops.cast(part, "float32") for part in keras.tree.flatten(each)]
        for each in (outputs, wanted)
    )
    assert difference(*values) == 0.0
    if is_float32 is not None:
        assert dtypes(outputs) == ["float32" if is_float32 else layer.compute_dtype]
    for part in layer._flatten_layers():
        assert part.dtype_policy.name == policy, part.path


@pytest.mark.parametrize("name", LAYERS)
def test_a_copy_has_the_same_dtypes(name):
    make, args, kwargs, _ = LAYERS[name]
    layer = make("mixed_bfloat16")
    copy = type(layer).from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    copy(*args, **kwargs)
    assert {part.dtype_policy.name for part in copy._flatten_layers()} == {"mixed_bfloat16"}


@pytest.mark.parametrize("name", ["embeddings", "attention", "block"])
def test_each_dropout_acts_in_training_only(name, randomized, difference):
    make, args, kwargs, _ = LAYERS[name]
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
