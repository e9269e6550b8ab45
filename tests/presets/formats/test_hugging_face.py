"""Hugging Face folders: every variant of a BERT is read, everything else is refused."""

import logging
import re

import ml_dtypes
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertPretrainer, BertTask
from keras_bert.presets.formats.hugging_face import read_hugging_face

CLASSIFIER = {
    "architectures": ["BertForSequenceClassification"],
    "id2label": {"0": "no", "1": "maybe", "2": "yes"},
    "label2id": {"no": 0, "maybe": 1, "yes": 2},
}


@pytest.fixture
def classifier(encoder, heads, folder):
    """Writes the folder of a classifier, with a changed config."""
    tensors = {**encoder, **heads("classifier.")}
    return lambda name="theirs", **config: folder(tensors, {**CLASSIFIER, **config}, name=name)


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


@pytest.mark.parametrize("spelled", [dict, of_old_versions])
def test_every_weight_comes_from_its_tensor(encoder, folder, as_ours, same, spelled):
    model = BertBackbone.from_preset(folder(spelled(encoder)))
    assert same(model, as_ours(encoder))
    report = model.load_report
    assert len(report.matched) == len(model.weights) and not report.new and not report.left_over


def test_other_dtypes_are_read_as_float32(encoder, folder, as_ours, same):
    for dtype in ("float16", ml_dtypes.bfloat16, "float64"):
        narrow = {name: tensor.astype(dtype) for name, tensor in encoder.items()}
        model = BertBackbone.from_preset(folder(narrow, name=str(dtype)))
        assert {str(weight.dtype) for weight in model.weights} == {"float32"}
        assert same(model, as_ours({name: t.astype("float32") for name, t in narrow.items()}))


def test_every_setting_of_the_config_is_read(encoder, folder):
    config = {
        "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": 0.3,
        "layer_norm_eps": 1e-5,
        "num_attention_heads": 4,
        "position_embedding_type": "absolute",  # what changes nothing is accepted
        "is_decoder": False,
        "pruned_heads": {},
        "quantization_config": None,
        "a_key_of_a_later_version": {"nobody": "knows"},
    }
    model = BertBackbone.from_preset(folder(encoder, config))
    expected = {"vocabulary_size": 30, "num_layers": 2, "num_heads": 4, "hidden_dim": 8}
    expected |= {"intermediate_dim": 12, "max_sequence_length": 16, "num_segments": 2}
    expected |= {"dropout": 0.2, "attention_dropout": 0.3, "layer_norm_epsilon": 1e-5}
    expected |= {"activation": "gelu"}
    assert expected.items() <= model.get_config().items()


@pytest.mark.parametrize("theirs", ["gelu_python", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"])
def test_gelu_and_its_tanh_form_have_several_names(encoder, folder, theirs):
    ours = "gelu" if theirs == "gelu_python" else "gelu_approximate"
    config = read_hugging_face(folder(encoder, {"hidden_act": theirs})).backbone
    assert config["activation"] == ours


def test_both_pretraining_heads_are_read(encoder, heads, folder, as_ours, same):
    theirs = heads("cls.")
    del theirs["cls.predictions.decoder.weight"], theirs["cls.predictions.decoder.bias"]
    model = BertTask.from_preset(folder({**encoder, **theirs}))
    assert type(model) is BertPretrainer and model.next_sentence and model.tie_embeddings
    assert same(model, as_ours({**encoder, **theirs}, model))
    assert not model.load_report.new and not model.load_report.left_over


def test_a_decoder_equal_to_the_table_is_tied(encoder, heads, folder):
    tensors = {**encoder, **heads("cls.")}
    tensors["cls.predictions.decoder.weight"] = encoder["bert.embeddings.word_embeddings.weight"]
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]
    tied = read_hugging_face(folder(tensors))
    assert tied.task_arguments["tie_embeddings"] and not tied.left_over
    assert not [path for path in tied.weights if "decoder" in path]
    untied = folder(tensors, {"tie_word_embeddings": False}, name="untied")
    assert not read_hugging_face(untied).task_arguments["tie_embeddings"]


def test_an_untied_decoder_stays_untied(encoder, heads, folder, weights_of):
    theirs = heads("cls.")
    model = BertPretrainer.from_preset(folder({**encoder, **theirs}))
    assert not model.tie_embeddings and not model.load_report.left_over
    weights = weights_of(model)
    for ours, name in (("decoder/embeddings", "decoder.weight"), ("bias", "decoder.bias")):
        assert np.array_equal(weights[f"masked_lm/{ours}"], theirs[f"cls.predictions.{name}"])


def test_a_new_pooler_is_told_to_those_who_read_it(encoder, heads, folder, caplog):
    tensors = {**encoder, **heads("cls.predictions.transform", "cls.predictions.bias")}
    tensors = {name: t for name, t in tensors.items() if "pooler" not in name}
    source = folder(tensors)
    with caplog.at_level(logging.WARNING, "keras_bert"):
        model = BertPretrainer.from_preset(source)
    assert not model.next_sentence
    assert model.load_report.new == {"pooler/kernel": (8, 8), "pooler/bias": (8,)}
    assert not caplog.messages
    for cls, arguments in ((BertBackbone, {}), (BertClassifier, {"num_classes": 2})):
        caplog.clear()
        cls.from_preset(source, **arguments)
        assert "has no weights for pooler/kernel, pooler/bias" in caplog.text


def test_a_classifier_keeps_its_labels_and_dropout(classifier, heads, weights_of, preprocessor):
    theirs = heads("classifier.")
    model = BertTask.from_preset(classifier(classifier_dropout=0.4), preprocessor=preprocessor)
    assert type(model) is BertClassifier and model.num_classes == 3
    assert model.preprocessor.label_names == ["no", "maybe", "yes"] and model.dropout == 0.4
    weights = weights_of(model)
    assert np.array_equal(weights["logits/kernel"], theirs["classifier.weight"].T)
    assert np.array_equal(weights["logits/bias"], theirs["classifier.bias"])
    source = classifier(name="another", classifier_dropout=None, hidden_dropout_prob=0.2)
    assert BertTask.from_preset(source).dropout == 0.2


def test_labels_of_the_same_name_get_names_of_their_own(classifier, caplog):
    source = classifier(id2label={"0": "yes", "1": "yes", "2": "yes_1"})
    assert read_hugging_face(source).task_arguments["label_names"] == ["yes_0", "yes_1", "yes_1_2"]
    assert "id2label repeats a name; the classes are called yes_0, yes_1, yes_1_2" in caplog.text


def test_labels_without_a_vocabulary_are_reported_as_left_out(classifier, caplog):
    assert BertClassifier.from_preset(classifier()).preprocessor is None
    [message] = [m for m in caplog.messages if "has no vocabulary" in m]
    assert "label_names=['no', 'maybe', 'yes']" in message and "preprocessor=" in message


def test_several_labels_are_read(classifier, preprocessor):
    source = classifier(problem_type="multi_label_classification")
    assert read_hugging_face(source).truncation == "longest_first"
    model = BertClassifier.from_preset(source, preprocessor=preprocessor)
    assert model.preprocessor.multi_label


def test_the_head_of_another_task_is_not_loaded(encoder, heads, folder):
    theirs = heads("classifier.")
    source = folder({**encoder, **theirs}, {"architectures": ["BertForTokenClassification"]})
    model = BertClassifier.from_preset(source, num_classes=3)
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    assert set(model.load_report.left_over) == {*theirs}


def test_an_architecture_without_its_head_is_an_encoder(encoder, folder):
    for architecture in ("BertForMaskedLM", "BertForSequenceClassification", "BertModel"):
        source = folder(encoder, {"architectures": [architecture]}, name=architecture)
        assert read_hugging_face(source).task is None
    assert type(BertTask.from_preset(source)) is BertEmbedder


def test_the_report_lists_every_weight(encoder, heads, folder, caplog):
    theirs = {**heads("cls.seq_relationship"), "something.else": np.zeros((4, 5), "float32")}
    with caplog.at_level(logging.INFO, "keras_bert"):
        model = BertClassifier.from_preset(folder({**encoder, **theirs}), num_classes=2)
    table = " ".join(str(model.load_report).split())
    for row in ("pooler/kernel 8x8 bert.pooler.dense.weight", "logits/kernel 8x2 newly init"):
        assert row in table
    assert "(left over) 4x5 something.else" in table
    assert re.search(r": 31 weights matched, 2 \D+, 3 left over\.$", table)
    assert "has no weights for logits/kernel, logits/bias," in caplog.text
    assert "not used: something.else" in caplog.text


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "gpt2"}, "model_type .* 'bert', 'distilbert', 'electra', .* got 'gpt2'"),
        ({"is_decoder": True}, "is_decoder must be left out: causal encoders aren't sup.*got True"),
        ({"add_cross_attention": True}, "add_cross_attention must.*got True"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type.* 'relative_key'"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads must.*got {"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must.*got {"),
        ({"hidden_act": "quick_gelu"}, "hidden_act .* 'gelu', 'gelu_new', .*got 'quick_gelu'"),
        ({"num_attention_heads": 3}, "hidden_dim=8 and num_heads=3"),
        ({"max_position_embeddings": 20}, r"position_e\S+ is \[16, 8\] there and \[20, 8\] here"),
        ({"num_hidden_layers": 1}, r"bert.encoder.layer.1.\S+ \[\d+(, \d+)?\] has no place"),
    ],
)
def test_a_config_that_does_not_suit_is_refused(encoder, folder, config, message, refused):
    refused(message, BertBackbone.from_preset, folder(encoder, config))


def test_a_tensor_that_does_not_suit_the_callers_arguments_is_named(encoder, folder, refused):
    message = r"with the arguments of from_preset, describes: .* \[16, 8\] there and \[8, 8\] here"
    refused(message, BertBackbone.from_preset, folder(encoder), max_sequence_length=8)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("encoder.layer.1.output.dense.weight", None, r"dense.weight is missing, \[12, 8"),
        ("encoder.layer.0.attention.self.key.bias", None, r"query.bias \[8\], .*key.bias is miss"),
        ("embeddings.word_embeddings.weight", None, r"weight is missing, \[30, 8\] here"),
        ("encoder.layer.1.attention.self.key.weight", np.zeros((8, 6)), r"self.key.weight \[8, 6"),
        ("pooler.dense.bias", np.array(1.0), r"bert.pooler.dense.bias \[\]"),
        *[
            ("pooler.dense.bias", np.zeros(8, kind), "pooler.dense.bias holds .*floating point")
            for kind in ("int32", "int8", "bool", "complex64")
        ],
    ],
)
def test_a_tensor_that_is_missing_or_wrong_is_named(
    encoder, folder, name, tensor, message, refused
):
    encoder[f"bert.{name}"] = tensor
    source = folder({name: t for name, t in encoder.items() if t is not None})
    refused(message, BertClassifier.from_preset, source, num_classes=2)
