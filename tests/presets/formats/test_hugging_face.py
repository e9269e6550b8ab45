"""Hugging Face folders: every variant of a BERT is read, everything else is refused."""

import logging
import re

import ml_dtypes
import numpy as np

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPretrainer,
    BertTask,
)
from keras_bert.presets.formats.hugging_face import read_hugging_face

TABLE = "bert.embeddings.word_embeddings.weight"


def of_old_versions(tensors):
    """Names without a prefix, in wrappers of torch, with LayerNorm's old ones; and buffers."""
    for new, old in (
        (r"^bert\.", "module._orig_mod."),
        (r"LayerNorm\.weight", "LayerNorm.gamma"),
        (r"LayerNorm\.bias", "LayerNorm.beta"),
    ):
        tensors = {re.sub(new, old, name): tensor for name, tensor in tensors.items()}
    buffers = ("embeddings.position_ids", "bert.embeddings.token_type_ids")
    return {**tensors, **dict.fromkeys(buffers, np.arange(16)[None])}


def test_every_weight_comes_from_its_tensor(encoder, folder, as_ours, same):
    for name, spelled, dtype in (
        ("old", of_old_versions, "float32"),
        ("narrow", dict, ml_dtypes.bfloat16),
        ("double", dict, "float64"),
    ):
        tensors = {key: tensor.astype(dtype) for key, tensor in encoder.items()}
        model = BertBackbone.from_preset(folder(spelled(tensors), name=name))
        assert {str(weight.dtype) for weight in model.weights} == {"float32"}
        tensors = {key: tensor.astype("float32") for key, tensor in tensors.items()}
        assert same(model, as_ours(tensors)), name
        report = model.load_report
        assert len(report.matched) == len(model.weights) and not report.new
        assert not report.left_over


def test_every_setting_of_the_config_is_read(encoder, folder):
    config = {
        "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": 0.3,
        "layer_norm_eps": 1e-5,
        "num_attention_heads": 4,
        "hidden_act": "gelu_python",
        "position_embedding_type": "absolute",  # what changes nothing is accepted
        "is_decoder": False,
        "pruned_heads": {},
        "quantization_config": None,
        "a_key_of_a_later_version": {"nobody": "knows"},
    }
    expected = {
        "num_heads": 4,
        "dropout": 0.2,
        "attention_dropout": 0.3,
        "activation": "gelu",
    }
    model = BertBackbone.from_preset(folder(encoder, config))
    assert {**expected, "layer_norm_epsilon": 1e-5}.items() <= model.get_config().items()
    for theirs in ("gelu_new", "gelu_fast", "gelu_pytorch_tanh"):
        source = folder(encoder, {"hidden_act": theirs}, name=theirs)
        assert read_hugging_face(source).backbone["activation"] == "gelu_approximate"


def test_a_decoder_is_tied_if_it_equals_the_table(encoder, heads, folder, weights_of):
    tensors = {**encoder, **heads("cls.")}
    untied = BertTask.from_preset(folder(tensors, name="untied"))
    assert type(untied) is BertPretrainer and untied.next_sentence and not untied.tie_embeddings
    assert not untied.load_report.new and not untied.load_report.left_over
    bias = weights_of(untied)["masked_lm/bias"]
    assert np.array_equal(bias, tensors["cls.predictions.decoder.bias"])  # which its decoder adds
    tensors["cls.predictions.decoder.weight"] = encoder[TABLE]
    for config in ({}, {"tie_word_embeddings": False}):
        equal = read_hugging_face(folder(tensors, config, name=f"equal {config}"))
        assert equal.task_arguments["tie_embeddings"] is not bool(config) and not equal.left_over
        assert ("masked_lm/decoder/embeddings" in equal.weights) is bool(config)


def test_a_new_pooler_is_told_to_those_who_read_it(encoder, heads, folder, caplog):
    tensors = {**encoder, **heads("cls.predictions.transform", "cls.predictions.bias")}
    source = folder({name: t for name, t in tensors.items() if "pooler" not in name})
    model = BertPretrainer.from_preset(source)
    assert not model.next_sentence
    assert model.load_report.new == {"pooler/kernel": (8, 8), "pooler/bias": (8,)}
    assert not caplog.messages
    for cls, arguments in ((BertBackbone, {}), (BertClassifier, {"num_classes": 2})):
        caplog.clear()
        cls.from_preset(source, **arguments)
        assert "has no weights for pooler/kernel, pooler/bias" in caplog.text


def test_a_classifier_keeps_its_labels_and_dropout(their_classifier, preprocessor, caplog):
    settings = {"classifier_dropout": 0.4, "problem_type": "multi_label_classification"}
    model = BertTask.from_preset(their_classifier(**settings), preprocessor=preprocessor)
    assert type(model) is BertClassifier and model.num_classes == 3 and model.dropout == 0.4
    assert model.preprocessor.label_names == ["no", "maybe", "yes"]
    assert model.preprocessor.multi_label and not caplog.text
    source = their_classifier("bare", classifier_dropout=None, hidden_dropout_prob=0.2)
    model = BertClassifier.from_preset(source)
    assert model.preprocessor is None and model.dropout == 0.2
    [message] = [m for m in caplog.messages if "has no vocabulary" in m]
    assert "label_names=['no', 'maybe', 'yes']" in message and "preprocessor=" in message
    source = their_classifier("again", id2label={"0": "yes", "1": "yes", "2": "yes_1"})
    assert read_hugging_face(source).task_arguments["label_names"] == [
        "yes_0",
        "yes_1",
        "yes_1_2",
    ]
    assert "id2label repeats a name; the classes are called yes_0, yes_1, yes_1_2" in caplog.text


def test_the_head_of_another_task_is_not_loaded(encoder, heads, their_classifier, folder):
    source = their_classifier(architectures=["BertForTokenClassification"])
    model = BertClassifier.from_preset(source, num_classes=3)
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    assert set(model.load_report.left_over) == {*heads("classifier.")}
    for architecture in ("BertForSequenceClassification", "BertModel"):
        source = folder(encoder, {"architectures": [architecture]}, name=architecture)
        assert read_hugging_face(source).task is None
    assert type(BertTask.from_preset(source)) is BertEmbedder


def test_the_report_lists_every_weight(encoder, heads, folder, caplog):
    theirs = {
        **heads("cls.seq_relationship"),
        "something.else": np.zeros((4, 5), "float32"),
    }
    with caplog.at_level(logging.INFO, "keras_bert"):
        model = BertClassifier.from_preset(folder({**encoder, **theirs}), num_classes=2)
    table = " ".join(str(model.load_report).split())
    rows = ("pooler/kernel 8x8 bert.pooler.dense.weight", "logits/kernel 8x2 newly init")
    for row in (*rows, "(left over) 4x5 something.else"):
        assert row in table
    assert "has no weights for logits/kernel, logits/bias," in caplog.text
    assert "not used: something.else" in caplog.text


def test_a_config_that_does_not_suit_is_refused(encoder, folder, refused):
    for key, value, message in (
        (
            "model_type",
            "gpt2",
            "model_type .* 'bert', 'distilbert', 'electra', .* got 'gpt2'",
        ),
        (
            "is_decoder",
            True,
            "is_decoder must be left out: causal encoders aren't sup.*got True",
        ),
        (
            "position_embedding_type",
            "relative_key",
            "position_embedding_type.* 'relative_key'",
        ),
        ("quantization_config", {"bits": 4}, "quantization_config must.*got {"),
        (
            "hidden_act",
            "quick_gelu",
            "hidden_act .* 'gelu', 'gelu_new', .*got 'quick_gelu'",
        ),
        (
            "max_position_embeddings",
            20,
            r"position_e\S+ is \[16, 8\] there and \[20, 8\] here",
        ),
        (
            "num_hidden_layers",
            1,
            r"bert.encoder.layer.1.\S+ \[\d+(, \d+)?\] has no place",
        ),
    ):
        source = folder(encoder, {key: value}, name=key)
        refused(message, BertBackbone.from_preset, source)
    message = r"with the arguments of from_preset, describes: .* \[16, 8\] there and \[8, 8\] here"
    refused(message, BertBackbone.from_preset, folder(encoder), max_sequence_length=8)


def test_a_tensor_that_is_missing_or_wrong_is_named(encoder, folder, refused):
    layer, bias = "bert.encoder.layer", "bert.pooler.dense.bias"
    for index, (name, tensor, message) in enumerate((
        (f"{layer}.1.output.dense.weight", None, r"dense.weight is missing, \[12, 8"),
        (f"{layer}.0.attention.self.key.bias", None, r"query.bias \[8\], .*key.bias is miss"),
        (f"{layer}.1.attention.self.key.weight", np.zeros((8, 6)), r"self.key.weight \[8, 6"),
        (bias, np.array(1.0), r"bert.pooler.dense.bias \[\]"),
        (bias, np.zeros(8, "bool"), f"{bias} holds .*floating point"),
    )):  # fmt: skip
        tensors = {**encoder, name: tensor}
        if tensor is None:
            del tensors[name]
        source = folder(tensors, name=str(index))
        refused(message, BertClassifier.from_preset, source, num_classes=2)
