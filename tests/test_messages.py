"""Constructor arguments that can't be meant are refused, by name."""

import keras
import numpy as np

import keras_bert
from keras_bert import (
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertPreprocessor,
    BertPretrainer,
    BertTokenClassifier,
)

NAN = float("nan")
LABEL_NAMES = [["a", "b", "a"], "ab", {"a"}, [], [None, "a"], [["a"], ["b"]], 2, b"ab"]
LABEL_NAMES += [[["a"], ["b", "c"]], [None, np.array(["a", None], object)]]
INVALID = {  # {class: {argument: values}}
    "BertBackbone": {
        "num_layers": [-1, 0, 2.0, "2"],
        "vocabulary_size": [0],
        "num_heads": [0],
        "hidden_dim": [True],
        "intermediate_dim": [None],
        "max_sequence_length": [-5],
        "num_segments": [-1],
        "layer_norm_epsilon": [-1, 0, NAN, "1e-12"],
        "activation": [None, ["gelu"], "gleu"],
        "dropout": [-0.1, 1, 1.5, NAN, "0.1", None],
    },
    "BertClassifier": {"num_classes": [0, -1, 2.5, "2", True, NAN]},
    "BertClassifierPreprocessor": {
        "threshold": ["0.5"],
        "window_stride": [2.5, "2"],
        "sequence_length": [True],
        "truncation": [["head"], np.array(["head", "tail"]), keras.ops.zeros(2)],
        "label_names": LABEL_NAMES,
    },
    "BertTokenClassifierPreprocessor": {"label_names": LABEL_NAMES},
    "BertSpanLabelerPreprocessor": {
        "document_stride": [0, 1.5],
        "max_question_length": ["9"],
        "max_answer_length": [0],
        "null_threshold": [NAN, "0"],
    },
    "Batching": {
        "batch_size": [0, 1.5, True],
        "seed": ["one"],
        "pad_to": [12, (1.5,), ()],
        "bucket_lengths": ["32", (0, 4)],
    },
    "AdamW": {
        "learning_rate": [NAN, float("inf"), -1.0],
        "weight_decay": [NAN],
        "epsilon": [-1],
        "beta_1": [1.0],
        "beta_2": [NAN],
        "layer_decay": [NAN, 0, 1.5],
        "global_clipnorm": [0, -1.0, NAN, b"1", object()],
    },
}


def test_arguments_that_cannot_be_meant_are_refused_by_name(
    make_backbone, backbone, preprocessor, refused
):
    first = {"BertBackbone": [], "BertClassifier": [backbone], "Batching": [], "AdamW": []}
    for name, arguments in INVALID.items():
        make = make_backbone if name == "BertBackbone" else getattr(keras_bert, name)
        for argument, values in arguments.items():
            for value in values:
                print(name, argument, value)  # for where none is raised
                taken = first.get(name, [preprocessor.tokenizer])
                refused(argument, make, *taken, **{argument: value})


def test_a_task_takes_a_backbone_and_a_preprocessor(backbone, preprocessor, refused):
    refused("takes a Backbone.*got str.*from_preset", BertClassifier, "bert-base-uncased", 2)
    for cls in (BertEmbedder, BertPretrainer):
        refused("takes a Backbone.*got NoneType", cls, None)
    message = "BertClassifierPreprocessor.*got BertTokenizer"
    refused(message, BertClassifier, backbone, 2, preprocessor.tokenizer)


def test_num_classes_is_by_default_the_number_of_label_names(backbone, preprocessor, refused):
    named = BertClassifierPreprocessor.like(preprocessor, label_names=["low", "mid", "high"])
    model = BertClassifier(backbone, preprocessor=named)
    assert model.num_classes == 3 and model.output.shape == (None, 3)
    message = r"give label_names.*sorted\(set\(labels\)\)"
    refused(message, BertClassifier, backbone)
    for kind in (BertClassifier, BertTokenClassifier):
        refused(message, kind, backbone, preprocessor=preprocessor)


def test_a_preprocessor_takes_a_tokenizer(refused):
    refused("takes a BertTokenizer; got str", BertPreprocessor, "vocab.txt")
