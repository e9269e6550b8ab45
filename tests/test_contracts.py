"""Each class keeps the contract of its kind, which `keras_bert.testing` has for users' classes.

Those of tasks, preprocessors and formats are in `models/test_every_task.py` and
`presets/formats/test_every_format.py`. `test_backends.py` runs this page on JAX and PyTorch, too.
"""

import functools
import shutil
import types

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import testing
from keras_bert.layers.choices import ChoicesAsRows, RowsAsChoices
from keras_bert.layers.dense_and_norms import FeatureNormalization
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import Embeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.layer_combination import LayerCombination
from keras_bert.layers.masked_lm_head import HeadTransform, MaskedLMHead
from keras_bert.layers.modernbert_layers import (
    GatedFeedForward,
    ModernBertBlock,
    ModernBertEmbeddings,
)
from keras_bert.layers.packed_rows import ClsVectors, MeanVectors
from keras_bert.layers.pooling import Pooling
from keras_bert.layers.self_attention import SelfAttention
from tests import vocabularies
from tests.marks import slow
from tests.pairs.factors import ENCODERS

X = np.random.default_rng(1).normal(size=(2, 5, 8)).astype("float32")
IDS = np.array([[2, 7, 7, 3, 0], [2, 9, 3, 0, 0]])
MASK = {"padding_mask": (IDS > 0).astype("int32")}
CHOICES = {"token_ids": np.ones((2, 2, 5), "int32")}


def masked_lm_head():
    table = keras.layers.ReversibleEmbedding(10, 8, name="table")
    return MaskedLMHead(table, HeadTransform(8), name="head")


def of(cls, *arguments, **options):
    return functools.partial(cls, *arguments, **options)


LAYERS = {  # a function that makes the layer, positional inputs, named inputs
    "embeddings": (
        of(Embeddings, 10, 8, 6),
        [IDS],
        {"segment_ids": MASK["padding_mask"]},
    ),
    "ModernBERT's embeddings": (of(ModernBertEmbeddings, 10, 8, 6), [IDS], {}),
    "attention": (of(SelfAttention, 2, 8, 0.1), [X], MASK),
    "block": (of(EncoderBlock, 2, 8, 16), [X], MASK),
    "ModernBERT's block": (of(ModernBertBlock, 2, 8, 16, window=1), [X], MASK),
    "gated": (of(GatedFeedForward, 8, 16), [X], {}),
    "dropout": (of(Dropout, 0.1), [X], {}),
    "masked LM": (masked_lm_head, [X, IDS % 5], {}),
    "pooling": (of(Pooling, "mean", True), [X], MASK),
    "combination": (of(LayerCombination, "weighted"), [[X, 2 * X]], {}),
    "cls": (ClsVectors, [X], {}),
    "mean": (MeanVectors, [X], MASK),
    "features": (FeatureNormalization, [X[:, 0]], {}),
    "rows": (ChoicesAsRows, [CHOICES], {}),
    "choices": (RowsAsChoices, [X[:, 0, :1]], {"token_ids": IDS[:, None]}),  # one a row
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, inputs, named = LAYERS[name]
    testing.run_layer(make, *inputs, **named)


SIZES = {
    "vocabulary_size": 30,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "intermediate_dim": 24,
    "max_sequence_length": 16,
}
SIZES = {name: np.int64(size) for name, size in SIZES.items()}  # as NumPy counts them
BERT = of(keras_bert.BertBackbone, **SIZES)
BACKBONES = {
    "BERT": of(BERT, num_segments=np.int64(3), dropout=0.2, activation="gelu_approximate"),
    **{name: of(BERT, **own) for name, own in ENCODERS.items() if name not in ("BERT", "RoBERTa")},
    "ModernBERT": of(keras_bert.ModernBertBackbone, **SIZES, window=1, global_every=2),
}


OTHERS = set(BACKBONES) - {"BERT", "ModernBERT"}


@pytest.mark.parametrize(
    "name",
    [slow(n) if n in OTHERS else n for n in BACKBONES],
)
def test_backbones(name):
    testing.run_backbone(BACKBONES[name])


@pytest.mark.parametrize("kind", ["words", "byte pairs", "unigrams"])
def test_tokenizers(kind, letters):
    tokenizer = letters
    if kind != "words":
        files = {"byte pairs": vocabularies.byte_pairs, "unigrams": vocabularies.unigrams}
        tokenizer = keras_bert.FastTokenizer(files[kind]())
    testing.run_tokenizer(tokenizer, [*vocabularies.LANGUAGES, *vocabularies.ODD])


def sums(self, x):
    return x + keras.ops.sum(x, axis=0, keepdims=True)


def leaks(self, x, padding_mask=None):
    return x + keras.ops.sum(x, axis=1, keepdims=True)


def forgets(self, size=3):
    keras.layers.Layer.__init__(self)


def lies(self, x):
    return keras.KerasTensor((*x.shape[:-1], 1), x.dtype)


@pytest.mark.parametrize(
    "lacks, named, methods",
    [
        ("each row", {}, {"call": sums}),
        ("what is padding", MASK, {"call": leaks}),
        ("all arguments", {}, {"__init__": forgets, "get_config": lambda self: {}}),
        ("without values", {}, {"compute_output_spec": lies}),
    ],
)
def test_a_broken_layer_is_told_which_property_it_lacks(lacks, named, methods):
    methods = {"call": lambda self, x: x, **methods}
    with pytest.raises(AssertionError) as caught:
        testing.run_layer(type("Broken", (keras.layers.Layer,), methods), X, **named)
    assert lacks in caught.value.__notes__[-1]


TEXTS = ["a b c", "d", ""]
TASK, TOKENIZER = keras_bert.BertClassifier, keras_bert.BertTokenizer
BROKEN = [  # the property that is lacking, a class, and a method that is exchanged for another
    (
        "in the text",
        TOKENIZER,
        "tokenize_with_offsets",
        lambda own, *x: own(*x)[::2] + own(*x)[1:2],
    ),
    (
        "other texts",
        TOKENIZER,
        "tokenize",
        lambda own, self, x: own(self, x)[: len(x) % 3 + 1],
    ),
    ("inverse", TOKENIZER, "token_to_id", lambda *_: 0),
    (
        "a config",
        keras_bert.BertPreprocessor,
        "get_config",
        lambda own, self: {**own(self), "sequence_length": 9},
    ),
    ("freezes", keras_bert.BertBackbone, "freeze", lambda *_: None),
    (
        "whatever the batches",
        TASK,
        "predict",
        lambda own, *x, batch_size=32, **options: own(*x, **options) * batch_size,
    ),
    (
        "raw examples",
        TASK,
        "predict",
        lambda own, self, x, **options: own(self, x, **options) * isinstance(x, list),
    ),
    ("plain Python", TASK, "answer", lambda own, self, x, **_: [{"label": X}] * len(x)),
    (
        "depend on batches",
        TASK,
        "evaluate",
        lambda *_, batching, **__: [batching.batch_size],
    ),
    (
        "fit trains",
        TASK,
        "fit",
        lambda *_, **__: types.SimpleNamespace(history={"loss": [1.0]}),
    ),
]


def exchanged(method, own):
    return lambda *arguments, **options: method(own, *arguments, **options)


@pytest.mark.parametrize("lacks, cls, name, method", BROKEN)
def test_a_broken_class_is_told_which_property_it_lacks(
    lacks, cls, name, method, letters, monkeypatch
):
    reader = keras_bert.BertClassifierPreprocessor(letters, 12)
    contract, *subject = {
        TOKENIZER: (testing.run_tokenizer, letters, TEXTS),
        keras_bert.BertPreprocessor: (testing.run_preprocessor, reader, TEXTS),
        keras_bert.BertBackbone: (testing.run_backbone, BERT),
        TASK: (testing.run_task, TASK(BERT(), 2, reader), TEXTS, [0, 1, 0]),
    }[cls]
    monkeypatch.setattr(cls, name, exchanged(method, getattr(cls, name)))
    with pytest.raises((AssertionError, TypeError)) as caught:
        contract(*subject)
    assert lacks in caught.value.__notes__[-1]


def overwrite(model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    model.save_to_preset(folder)


def save_another(model, folder):
    TASK(BERT(), 2).save_to_preset(folder)


@pytest.mark.parametrize("lacks, save", [("bit for bit", save_another), ("not lost", overwrite)])
def test_a_broken_format_is_told_which_property_it_lacks(lacks, save):
    with pytest.raises(AssertionError) as caught:
        testing.run_format(save, TASK(BERT(), 2))
    assert lacks in caught.value.__notes__[-1]
