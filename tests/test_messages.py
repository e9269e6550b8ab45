"""Constructor arguments that can't be meant are refused, by name."""

import numpy as np
import pytest

import keras_bert
from keras_bert import (
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertPreprocessor,
    BertPretrainer,
)
from keras_bert.messages import check_int, check_number, from_extra

NAN = float("nan")
LABEL_NAMES = [["a", "b", "a"], "ab", {"a"}, [], [["a"], ["b", "c"]], 2]
LABEL_NAMES += [[None, np.array(["a", None], object)]]
INVALID = {  # {class: {argument: values}}
    "BertBackbone": {
        **dict.fromkeys(("num_layers", "vocabulary_size", "num_heads", "hidden_dim"), [0]),
        **dict.fromkeys(("intermediate_dim", "max_sequence_length", "layer_norm_epsilon"), [0]),
        "num_segments": [-1],
        "activation": [None, ["gelu"], "gleu"],
        "dropout": [-0.1, 1],
    },
    "BertClassifier": {"num_classes": [0]},
    "BertClassifierPreprocessor": {
        "threshold": ["0.5"],
        "window_stride": [2.5],
        "sequence_length": [True],
        "truncation": [["head"], np.array(["head", "tail"])],
        "label_names": LABEL_NAMES,
    },
    "BertTokenClassifierPreprocessor": {"label_names": LABEL_NAMES[:1]},
    "BertSpanLabelerPreprocessor": {
        **dict.fromkeys(("document_stride", "max_question_length", "max_answer_length"), [0]),
        "null_threshold": [NAN],
    },
    "Batching": {
        "batch_size": [0],
        "seed": ["one"],
        "pad_to": [12, (1.5,), ()],
        "bucket_lengths": ["32", (0, 4)],
    },
    "AdamW": {
        **dict.fromkeys(("learning_rate", "weight_decay", "epsilon"), [-1]),
        **dict.fromkeys(("beta_1", "beta_2"), [-1, 1]),
        "layer_decay": [0, 1.5],
        "global_clipnorm": [0],
    },
}


def test_numbers_are_of_the_type_and_within_the_limits(refused):
    for value in (0, True, 2.0, "2", None, NAN):
        refused("size must be", check_int, "size", value)
    for value in (NAN, float("inf"), -0.1, 1, True, "0.1", None, b"1", object()):
        refused("rate must be", check_number, "rate", value, at_least=0, below=1)


def test_arguments_that_cannot_be_meant_are_refused_by_name(
    make_backbone, backbone, preprocessor, refused
):
    first = {
        "BertBackbone": [],
        "BertClassifier": [backbone],
        "Batching": [],
        "AdamW": [],
    }
    for name, arguments in INVALID.items():
        make = make_backbone if name == "BertBackbone" else getattr(keras_bert, name)
        for argument, values in arguments.items():
            for value in values:
                print(name, argument, value)  # for where none is raised
                taken = first.get(name, [preprocessor.tokenizer])
                refused(argument, make, *taken, **{argument: value})


def test_a_task_takes_a_backbone(refused):
    refused("takes a Backbone.*got str.*from_preset", BertClassifier, "bert-base-uncased", 2)
    for cls in (BertEmbedder, BertPretrainer):
        refused("takes a Backbone.*got NoneType", cls, None)


def test_num_classes_is_by_default_the_number_of_label_names(backbone, preprocessor):
    named = BertClassifierPreprocessor.like(preprocessor, label_names=["low", "mid", "high"])
    model = BertClassifier(backbone, preprocessor=named)
    assert model.num_classes == 3 and model.output.shape == (None, 3)


def test_a_preprocessor_takes_a_tokenizer(refused):
    refused("takes a BertTokenizer; got str", BertPreprocessor, "vocab.txt")


def test_a_missing_package_names_its_extra_and_a_broken_one_is_left_as_it_is():
    broken, absent = ModuleNotFoundError("broken"), ModuleNotFoundError("", name="a.b")
    for error, told in ((absent, r"package a: .*\[jax\]"), (broken, "^broken$")):
        with pytest.raises(ImportError, match=told), from_extra("jax"):
            raise error
