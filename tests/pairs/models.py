"""The model of a run: an encoder of each family under a task of each kind."""

import contextlib
import functools
import os

import keras
import numpy as np

import keras_bert
from keras_bert import BertTokenizer, FastTokenizer
from tests import vocabularies
from tests.pairs.examples import LENGTH, LETTERS, NAMES, TOKENS
from tests.pairs.factors import ENCODERS

KINDS = {
    "tags": "TokenClassifier",
    "spans": "SpanLabeler",
    "choices": "MultipleChoice",
    "embedder": "Embedder",
    "reranker": "Reranker",
    "pretrainer": "Pretrainer",
}
SETTINGS = {
    "labels": {"multi_label": True},
    "windows": {"window_stride": 6},
    "regression of several": {"regression": True},
    "spans": {"document_stride": 4, "max_question_length": 4, "max_answer_length": 3},
}


def has_next_sentence(encoder):
    """Whether its pre-training has pairs of texts, as in the files of other libraries."""
    return encoder in ("BERT", "own")


def kind_of(task):
    return KINDS.get(task.split()[0], "Classifier")


@functools.cache
def tokenizer_of(encoder):
    if encoder == "RoBERTa":
        return FastTokenizer(vocabularies.byte_pairs(texts=[" ".join(LETTERS)] * 20))
    if encoder == "XLM-RoBERTa":
        tokens = ["▁", *LETTERS, *(f"▁{letter}" for letter in LETTERS)]
        return FastTokenizer(vocabularies.unigrams(tokens))
    if encoder == "MPNet":
        return BertTokenizer(["<s>", "<pad>", "</s>", "[UNK]", *LETTERS, "<mask>"], family="mpnet")
    return BertTokenizer(TOKENS)


@functools.cache
def replicas():
    """The strategy of two devices, or of two workers."""
    return keras_bert.get_strategy("multiworker" if "TF_CONFIG" in os.environ else "mirrored")


def scope_of(run):
    """The devices of a run."""
    if keras.backend.backend() == "jax":
        name = "auto" if run["devices"] == "two" else "single"
        return keras_bert.get_strategy(name).scope()
    return replicas().scope() if run["devices"] == "two" else contextlib.nullcontext()


def dropout_of(run):
    """None, as numbers are compared; runs of other tests may have some."""
    return run.get("dropout", 0.0)


def make_backbone(run):
    sizes = {"vocabulary_size": tokenizer_of(run["encoder"]).vocabulary_size()}
    sizes |= {
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 16,
        "max_sequence_length": LENGTH,
    }
    if run["encoder"] == "own":
        from tests.models.test_second_backbone import OwnBackbone

        keras.config.set_dtype_policy(run["dtype"])  # its layers take no other
        return OwnBackbone(**sizes)
    sizes |= {"intermediate_dim": 32, "dtype": run["dtype"]}
    if run["encoder"] == "ModernBERT":
        return keras_bert.ModernBertBackbone(**sizes, window=1, global_every=2)
    return keras_bert.BertBackbone(**sizes, dropout=dropout_of(run), **ENCODERS[run["encoder"]])


def make_model(run):
    """The model of a run, with weights that depend on its encoder and its task alone."""
    task, kind = run["task"], kind_of(run["task"])
    cls = getattr(keras_bert, f"Bert{kind}")
    arguments = {} if kind in ("Embedder", "Pretrainer") else {"dropout": dropout_of(run)}
    settings = dict(SETTINGS.get(task, {}))
    if task in NAMES:
        settings["label_names"] = NAMES[task]
    if task == "regression":
        arguments["num_classes"] = 1
    if task == "features":
        arguments["num_features"] = 2
    if kind == "Pretrainer":
        arguments["next_sentence"] = has_next_sentence(run["encoder"])
    with scope_of(run):
        backbone = make_backbone(run)
        reader = cls.preprocessor_class()(
            tokenizer_of(run["encoder"]), sequence_length=LENGTH, **settings
        )
        model = cls(backbone, preprocessor=reader, **arguments)
        generator = np.random.default_rng(5)
        for weight in model.weights:
            if weight.path.endswith(("kernel", "embeddings", "bias")) and "float" in weight.dtype:
                weight.assign(generator.normal(0, 0.3, weight.shape))
    if run["lora"] == "yes":
        model.enable_lora(rank=2)
        for weight in model.trainable_weights:
            if "lora" in weight.path:
                weight.assign(generator.normal(0, 0.1, weight.shape))
    if run["freezing"] != "none":
        model.backbone.freeze(up_to=1 if run["freezing"] == "lower blocks" else None)
    if run["remat"] == "yes":
        model.backbone.remat = True
    return model
