"""Each class keeps the contract of its kind, which `keras_bert.testing` has for users' classes.

Those of tasks, preprocessors and formats are in `models/test_every_task.py` and
`presets/formats/test_every_format.py`. `test_backends.py` runs this page on JAX and PyTorch, too.
"""

import functools
import shutil

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
    "embeddings": (of(Embeddings, 10, 8, 6), [IDS], {"segment_ids": MASK["padding_mask"]}),
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


SIZES = {"vocabulary_size": 30, "num_layers": 2, "num_heads": 2, "hidden_dim": 16}
SIZES |= {"intermediate_dim": 24, "max_sequence_length": 16}
BERT = of(keras_bert.BertBackbone, **SIZES)
BACKBONES = {
    "BERT": of(BERT, num_segments=3, dropout=0.2, activation="gelu_approximate"),
    "DistilBERT": of(BERT, architecture="distilbert", num_segments=0),
    "ELECTRA": of(BERT, architecture="electra", embedding_dim=8),
    "XLM-RoBERTa": of(BERT, architecture="xlm-roberta", num_segments=1),
    "MPNet": of(BERT, architecture="mpnet", num_segments=0, relative_bias=True),
    "ModernBERT": of(keras_bert.ModernBertBackbone, **SIZES, window=1, global_every=2),
}


@pytest.mark.parametrize("name", BACKBONES)
def test_backbones(name):
    testing.run_backbone(BACKBONES[name])


@pytest.mark.parametrize("kind", ["words", "byte pairs", "unigrams"])
def test_tokenizers(kind, letters):
    tokenizer = letters
    if kind != "words":
        files = {"byte pairs": vocabularies.byte_pairs, "unigrams": vocabularies.unigrams}
        tokenizer = keras_bert.FastTokenizer(files[kind]())
    testing.run_tokenizer(tokenizer, [*vocabularies.LANGUAGES, *vocabularies.ODD])


class Sums(keras.layers.Layer):
    """Adds the rows of a batch to each other."""

    def call(self, x):
        return x + keras.ops.sum(x, axis=0, keepdims=True)


class Forgets(keras_bert.BertPreprocessor):
    """Has a config of another length."""

    def get_config(self):
        return {**super().get_config(), "sequence_length": 9}


class Leaks(keras.layers.Layer):
    """Adds all tokens to each, also what is padding."""

    def call(self, x, padding_mask=None):
        return x + keras.ops.sum(x, axis=1, keepdims=True)


class Counts(keras_bert.BertTokenizer):
    """Leaves out the first text of several."""

    def tokenize(self, text):
        tokens = super().tokenize(text)
        return [[], [], *tokens[2:]] if len(text) > 2 else tokens


def overwrite(model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    model.save_to_preset(folder)


def test_a_broken_class_is_told_which_property_it_lacks(letters):
    calls = {
        "each row": (testing.run_layer, Sums, X),
        "what is padding": (
            functools.partial(testing.run_layer, padding_mask=MASK["padding_mask"]),
            Leaks,
            X,
        ),
        "other texts": (
            testing.run_tokenizer,
            Counts.from_config(letters.get_config()),
            ["a", "b"],
        ),
        "file is not lost": (testing.run_format, overwrite, keras_bert.BertClassifier(BERT(), 2)),
        "a config": (testing.run_preprocessor, Forgets(letters, 12), ["a b c", "d", ""]),
    }
    for lacks, (contract, *arguments) in calls.items():
        with pytest.raises(AssertionError) as caught:
            contract(*arguments)
        assert lacks in caught.value.__notes__[-1]
