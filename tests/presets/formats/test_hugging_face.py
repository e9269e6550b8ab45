"""Hugging Face folders: every variant of a BERT is read, everything else is refused."""

import json
import logging
import re

import ml_dtypes
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertPretrainer, BertTask
from keras_bert.presets.save_checkpoint import save_to_hugging_face


def without_prefix(tensors):
    return {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}


def of_data_parallel(tensors):
    return {f"module.{name}": tensor for name, tensor in tensors.items()}


def of_old_names(tensors):
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {}
    for name, tensor in tensors.items():
        for new, old in names.items():
            name = name.replace(new, old)
        renamed[name] = tensor
    return renamed


def with_buffers(tensors):
    positions = np.arange(16)[None]
    return {
        **tensors,
        "bert.embeddings.position_ids": positions,
        "bert.embeddings.token_type_ids": 0 * positions,
    }


@pytest.mark.parametrize(
    "spelled",
    [
        dict,
        without_prefix,
        of_data_parallel,
        of_old_names,
        with_buffers,
        lambda tensors: of_data_parallel(without_prefix(of_old_names(tensors))),
    ],
)
def test_every_weight_comes_from_its_tensor(encoder, folder, as_ours, same, spelled):
    model = BertBackbone.from_preset(folder(spelled(encoder)))
    assert same(model, as_ours(encoder))
    report = model.load_report
    assert len(report.matched) == len(model.weights) and not report.new and not report.left_over


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes_are_read_as_float32(encoder, folder, as_ours, same, dtype):
    dtype = getattr(ml_dtypes, dtype, dtype)
    narrow = {name: tensor.astype(dtype) for name, tensor in encoder.items()}
    model = BertBackbone.from_preset(folder(narrow))
    assert {str(weight.dtype) for weight in model.weights} == {"float32"}
    assert same(model, as_ours({name: t.astype("float32") for name, t in narrow.items()}))


def test_every_setting_of_the_config_is_read(encoder, folder):
    config = {
        "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": 0.3,
        "layer_norm_eps": 1e-5,
        "num_attention_heads": 4,
        "gradient_checkpointing": False,
        "a_key_of_a_later_version": {"nobody": "knows"},
    }
    model = BertBackbone.from_preset(folder(encoder, config))
    expected = {
        "vocabulary_size": 30,
        "num_layers": 2,
        "num_heads": 4,
        "hidden_dim": 8,
        "intermediate_dim": 12,
        "dropout": 0.2,
        "attention_dropout": 0.3,
        "max_sequence_length": 16,
        "num_segments": 2,
        "layer_norm_epsilon": 1e-5,
        "activation": "gelu",
    }
    assert {name: model.get_config()[name] for name in expected} == expected
    assert model.blocks[1].output_norm.epsilon == 1e-5
    assert model.blocks[1].attention.probability_dropout.rate == 0.3


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("gelu", "gelu"),
        ("gelu_new", "gelu_approximate"),
        ("gelu_pytorch_tanh", "gelu_approximate"),
        ("relu", "relu"),
    ],
)
def test_activations_are_those_of_the_config(encoder, heads, folder, theirs, ours):
    source = folder({**encoder, **heads("cls.")}, {"hidden_act": theirs})
    model = BertPretrainer.from_preset(source)
    assert model.backbone.activation == model.masked_lm_activation == ours


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "roberta"}, "holds a model of type 'roberta', not a BERT"),
        ({"model_type": "distilbert"}, "holds a model of type 'distilbert', not a BERT"),
        ({"add_cross_attention": True}, "add_cross_attention=True"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key'"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads="),
        ({"quantization_config": {"bits": 4}}, "quantization_config="),
        (
            {"hidden_act": "quick_gelu"},
            "hidden_act .* one of 'gelu', 'gelu_new', .*got 'quick_gelu'",
        ),
        ({"num_attention_heads": 3}, "hidden_dim=8 and num_heads=3"),
    ],
)
def test_an_unsupported_setting_is_refused_by_name(encoder, folder, config, message):
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(folder(encoder, config))


def test_values_that_change_nothing_are_accepted(encoder, folder):
    config = {
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "pruned_heads": {},
        "quantization_config": None,
    }
    assert not BertBackbone.from_preset(folder(encoder, config)).causal


def test_a_decoder_is_a_causal_encoder(encoder, folder, tmp_path):
    backbone = BertBackbone.from_preset(folder(encoder, {"is_decoder": True}))
    assert backbone.causal
    save_to_hugging_face(BertPretrainer(backbone, next_sentence=False), tmp_path / "causal")
    config = json.loads((tmp_path / "causal/config.json").read_text())
    assert config["is_decoder"] is True and config["architectures"] == ["BertLMHeadModel"]
    model = BertTask.from_preset(tmp_path / "causal")
    assert type(model) is BertPretrainer and model.backbone.causal and not model.next_sentence


def test_both_pretraining_heads_are_read(encoder, heads, folder, as_ours, weights_of):
    theirs = heads("cls.")
    del theirs["cls.predictions.decoder.weight"], theirs["cls.predictions.decoder.bias"]
    model = BertTask.from_preset(folder({**encoder, **theirs}))
    assert type(model) is BertPretrainer and model.next_sentence and model.tie_embeddings
    expected = as_ours(encoder) | {
        "masked_lm/dense/kernel": theirs["cls.predictions.transform.dense.weight"].T,
        "masked_lm/dense/bias": theirs["cls.predictions.transform.dense.bias"],
        "masked_lm/norm/gamma": theirs["cls.predictions.transform.LayerNorm.weight"],
        "masked_lm/norm/beta": theirs["cls.predictions.transform.LayerNorm.bias"],
        "masked_lm/bias": theirs["cls.predictions.bias"],
        "next_sentence/kernel": theirs["cls.seq_relationship.weight"].T,
        "next_sentence/bias": theirs["cls.seq_relationship.bias"],
    }
    weights = weights_of(model)
    assert weights.keys() == expected.keys()
    assert all(np.array_equal(weights[path], expected[path]) for path in expected)
    assert not model.load_report.new and not model.load_report.left_over


def test_a_decoder_equal_to_the_table_is_tied(encoder, heads, folder):
    tensors = {**encoder, **heads("cls.")}
    tensors["cls.predictions.decoder.weight"] = encoder["bert.embeddings.word_embeddings.weight"]
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"]
    model = BertPretrainer.from_preset(folder(tensors))
    assert model.tie_embeddings and not model.load_report.left_over
    assert not [weight.path for weight in model.weights if "decoder" in weight.path]
    untied = folder(tensors, {"tie_word_embeddings": False}, name="untied")
    assert not BertPretrainer.from_preset(untied).tie_embeddings


def test_an_untied_decoder_stays_untied(encoder, heads, folder, weights_of):
    theirs = heads("cls.")
    model = BertPretrainer.from_preset(folder({**encoder, **theirs}))
    weights = weights_of(model)
    assert not model.tie_embeddings and not model.load_report.left_over
    assert np.array_equal(
        weights["masked_lm/decoder/embeddings"], theirs["cls.predictions.decoder.weight"]
    )
    assert np.array_equal(weights["masked_lm/bias"], theirs["cls.predictions.decoder.bias"])


def test_masked_lm_alone_has_a_new_pooler_and_a_warning(encoder, heads, folder, caplog):
    tensors = {**encoder, **heads("cls.predictions.transform", "cls.predictions.bias")}
    tensors = {name: t for name, t in tensors.items() if "pooler" not in name}
    with caplog.at_level(logging.WARNING, "keras_bert"):
        model = BertPretrainer.from_preset(folder(tensors))
    assert not model.next_sentence
    assert model.load_report.new == {"pooler/kernel": (8, 8), "pooler/bias": (8,)}
    assert "lacks pooler/kernel, pooler/bias:" in caplog.text


def test_next_sentence_alone_leaves_masked_lm_new(encoder, heads, folder):
    model = BertTask.from_preset(folder({**encoder, **heads("cls.seq_relationship")}))
    assert model.next_sentence and set(model.load_report.new) == {
        *(f"masked_lm/{name}" for name in ("dense/kernel", "dense/bias", "norm/gamma")),
        *("masked_lm/norm/beta", "masked_lm/bias"),
    }


CLASSIFIER = {
    "architectures": ["BertForSequenceClassification"],
    "id2label": {"0": "no", "1": "maybe", "2": "yes"},
    "label2id": {"no": 0, "maybe": 1, "yes": 2},
}


def test_a_classifier_keeps_its_labels_and_dropout(
    encoder, heads, folder, weights_of, preprocessor
):
    theirs = heads("classifier.")
    source = folder({**encoder, **theirs}, {**CLASSIFIER, "classifier_dropout": 0.4})
    model = BertTask.from_preset(source, preprocessor=preprocessor)
    assert type(model) is BertClassifier and model.num_classes == 3
    assert model.preprocessor.label_names == ["no", "maybe", "yes"] and model.dropout == 0.4
    weights = weights_of(model)
    assert np.array_equal(weights["logits/kernel"], theirs["classifier.weight"].T)
    assert np.array_equal(weights["logits/bias"], theirs["classifier.bias"])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (["yes", "no", "yes"], ["yes_0", "no", "yes_2"]),
        (["yes", "yes", "yes_1"], ["0", "1", "2"]),
    ],
)
def test_labels_of_the_same_name_get_names_of_their_own(
    encoder, heads, folder, preprocessor, caplog, theirs, ours
):
    config = {**CLASSIFIER, "id2label": {str(i): name for i, name in enumerate(theirs)}}
    source = folder({**encoder, **heads("classifier.")}, config)
    with caplog.at_level(logging.WARNING, "keras_bert"):
        model = BertTask.from_preset(source, preprocessor=preprocessor)
    assert model.preprocessor.label_names == ours
    assert (
        f"id2label repeats the name 'yes'; the classes are called {', '.join(ours)}" in caplog.text
    )


def test_labels_without_a_vocabulary_are_reported_as_left_out(encoder, heads, folder, caplog):
    BertClassifier.from_preset(folder({**encoder, **heads("classifier.")}, CLASSIFIER))
    [message] = [m for m in caplog.messages if "has no vocabulary" in m]
    assert "label_names=['no', 'maybe', 'yes']" in message and "preprocessor=" in message


def test_a_classifier_without_a_dropout_of_its_own_has_the_encoders(encoder, heads, folder):
    config = {**CLASSIFIER, "classifier_dropout": None, "hidden_dropout_prob": 0.2}
    model = BertClassifier.from_preset(folder({**encoder, **heads("classifier.")}, config))
    assert model.dropout == 0.2


def test_multi_label_settings_survive_a_round_trip(encoder, heads, folder, preprocessor, tmp_path):
    config = {**CLASSIFIER, "problem_type": "multi_label_classification"}
    source = folder({**encoder, **heads("classifier.")}, config)
    model = BertClassifier.from_preset(source, preprocessor=preprocessor)
    assert model.preprocessor.multi_label
    model.preprocessor.threshold = 0.3
    save_to_hugging_face(model, tmp_path / "ours")
    written = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert written["problem_type"] == "multi_label_classification"
    back = BertClassifier.from_preset(tmp_path / "ours")
    assert back.preprocessor.get_config() == model.preprocessor.get_config()


def test_another_number_of_classes_starts_a_new_head(
    encoder, heads, folder, same, as_ours, preprocessor
):
    source = folder({**encoder, **heads("classifier.")}, CLASSIFIER)
    model = BertClassifier.from_preset(source, num_classes=5, preprocessor=preprocessor)
    assert model.preprocessor.label_names == ["0", "1", "2", "3", "4"]
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    assert set(model.load_report.left_over) == {"classifier.weight", "classifier.bias"}
    assert same(model.backbone, as_ours(encoder))


@pytest.mark.parametrize(
    ("architecture", "head"),
    [("BertForTokenClassification", "classifier."), ("BertForQuestionAnswering", "qa_outputs.")],
)
def test_the_head_of_another_task_is_not_loaded(encoder, heads, folder, architecture, head):
    theirs = heads(head)
    source = folder({**encoder, **theirs}, {"architectures": [architecture]})
    model = BertClassifier.from_preset(source, num_classes=len(theirs[f"{head}bias"]))
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    assert set(model.load_report.left_over) == {f"{head}weight", f"{head}bias"}


def test_an_architecture_without_its_head_is_an_encoder(encoder, folder):
    for architecture in ("BertForMaskedLM", "BertForSequenceClassification", "BertModel"):
        source = folder(encoder, {"architectures": [architecture]}, name=architecture)
        assert type(BertTask.from_preset(source)) is BertEmbedder


def test_the_report_lists_every_weight(encoder, heads, folder, caplog):
    theirs = {**heads("cls.seq_relationship"), "something.else": np.zeros((4, 5), "float32")}
    with caplog.at_level(logging.INFO, "keras_bert"):
        model = BertClassifier.from_preset(folder({**encoder, **theirs}), num_classes=2)
    lines = str(model.load_report).splitlines()
    words = [line.split() for line in lines]
    assert ["pooler/kernel", "8x8", "bert.pooler.dense.weight"] in words
    new = [row[:2] for row in words if row[2:] == ["newly", "initialized"]]
    assert new == [["logits/kernel", "8x2"], ["logits/bias", "2"]]
    assert ["(left", "over)", "4x5", "something.else"] in words
    assert ["(left", "over)", "2x8", "cls.seq_relationship.weight"] in words
    assert re.search(r": 31 weights matched, 2 \D+, 3 left over\.$", lines[-1])
    assert "lacks logits/kernel, logits/bias:" in caplog.text
    assert "not used: something.else" in caplog.text


def test_a_tensor_of_another_shape_is_named_with_both_shapes(encoder, folder):
    source = folder(encoder, {"max_position_embeddings": 20})
    message = r"embeddings/position_embedding/embeddings is \[16, 8\] there and \[20, 8\] here"
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(source)
    message = r"its configuration and your arguments describe: .* \[16, 8\] there and \[8, 8\] here"
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(source, max_sequence_length=8)


def test_parts_that_do_not_fit_each_other_are_named(encoder, folder):
    encoder["bert.encoder.layer.1.attention.self.key.weight"] = np.zeros((8, 6), "float32")
    with pytest.raises(ValueError, match=r"should have the same shape: .*self.key.weight \[8, 6\]"):
        BertBackbone.from_preset(folder(encoder))


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("encoder.layer.1.output.dense.weight", r"layer.1.output.dense.weight is missing, \[12, 8"),
        (
            "encoder.layer.0.attention.self.key.bias",
            r"lacks .*layer.0.attention.self.key.bias, \[8\] like",
        ),
        ("embeddings.word_embeddings.weight", r"word_embeddings.weight is missing, \[30, 8\] here"),
    ],
)
def test_a_missing_tensor_of_the_encoder_is_named(encoder, folder, missing, message):
    del encoder[f"bert.{missing}"]
    for model, arguments in ((BertBackbone, {}), (BertClassifier, {"num_classes": 2})):
        with pytest.raises(ValueError, match=message):
            model.from_preset(folder(encoder, name=model.__name__), **arguments)


def test_a_layer_more_than_the_config_says_is_refused(encoder, folder):
    message = r"bert.encoder.layer.1.\S+ \[\d+(, \d+)?\] has no place"
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(folder(encoder, {"num_hidden_layers": 1}))


def test_a_folder_without_a_config_is_no_bert(encoder, folder):
    source = folder(encoder)
    (source / "config.json").unlink()
    with pytest.raises(ValueError, match="holds no BERT in a supported format.*model.safetensors"):
        BertBackbone.from_preset(source)
