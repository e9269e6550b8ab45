"""Folders for transformers are written whole or not at all, and load bit for bit."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPretrainer,
    BertTask,
    BertTokenClassifier,
)

MODELS = {
    "a backbone": lambda backbone: backbone,
    "a pretrainer": BertPretrainer,
    "masked LM alone": lambda backbone: BertPretrainer(backbone, next_sentence=False),
    "an untied masked LM": lambda backbone: BertPretrainer(
        backbone, next_sentence=False, tie_embeddings=False
    ),
    "a classifier": lambda backbone: BertClassifier(backbone, 2),
    "a regression": lambda backbone: BertClassifier(backbone, 1, dropout=0.3),
    "a token classifier": lambda backbone: BertTokenClassifier(backbone, 3),
    "an embedder": lambda backbone: BertEmbedder(backbone, pooling="max", normalize=False),
}
SETTINGS = [
    {"activation": "gelu", "dropout": 0.0, "num_segments": 1},
    {
        "activation": "gelu_approximate",
        "layer_norm_epsilon": 1e-5,
        "dropout": 0.25,
        "attention_dropout": 0.05,
        "num_segments": 4,
        "num_heads": 4,
    },
    {"activation": "relu"},
    {"activation": "silu"},
    {"activation": "tanh"},
]


def settings(model):
    """Returns a model's config without names."""
    backbone = getattr(model, "backbone", None)
    config = {**model.get_config(), "backbone": None if backbone is None else settings(backbone)}
    return {k: v for k, v in config.items() if k not in ("name", "trainable", "preprocessor")}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_bit_for_bit(backbone, randomized, same, tmp_path, name):
    model = randomized(MODELS[name](backbone()))
    model.save_to_hugging_face(tmp_path / "theirs")
    cls = type(model) if type(model) is BertBackbone else BertTask
    back = cls.from_preset(tmp_path / "theirs")
    assert type(back) is type(model) and same(model, back)
    assert settings(back) == settings(model)
    assert not back.load_report.new and not back.load_report.left_over


@pytest.mark.parametrize("arguments", SETTINGS, ids=lambda arguments: arguments["activation"])
def test_every_setting_comes_back(backbone, tmp_path, arguments):
    model = BertPretrainer(backbone(num_layers=1, **arguments))
    model.save_to_hugging_face(tmp_path)
    assert settings(BertPretrainer.from_preset(tmp_path)) == settings(model)


@pytest.mark.parametrize("cls", [BertClassifier, BertTokenClassifier])
def test_the_preprocessor_comes_back(backbone, preprocessor, tmp_path, cls):
    names = ["O", "B-LOC", "I-LOC"]
    reader = cls.preprocessor_class().like(preprocessor, label_names=names)
    cls(backbone(num_layers=1), 3, reader).save_to_hugging_face(tmp_path)
    assert cls.from_preset(tmp_path).preprocessor.get_config() == reader.get_config()
    assert type(reader).from_preset(tmp_path).get_config() == reader.get_config()


def test_names_and_config_are_those_of_transformers(encoder, heads, backbone, tmp_path):
    BertPretrainer(backbone(), tie_embeddings=False).save_to_hugging_face(tmp_path / "both")
    assert load_file(tmp_path / "both" / "model.safetensors").keys() == {*encoder, *heads("cls.")}
    BertClassifier(backbone(), 3).save_to_hugging_face(tmp_path / "classes")
    written = load_file(tmp_path / "classes" / "model.safetensors")
    expected = {**encoder, **heads("classifier.")}
    assert {name: t.shape for name, t in written.items()} == {
        name: t.shape for name, t in expected.items()
    }
    config = json.loads((tmp_path / "classes" / "config.json").read_text())
    assert config["architectures"] == ["BertForSequenceClassification"]
    assert config["model_type"] == "bert" and config["hidden_size"] == 8


def test_lora_is_merged(assert_close, backbone, randomized, weights_of, tmp_path):
    model = BertClassifier(backbone(), 2)
    for block in model.backbone.blocks:
        block.attention.query_key_value.enable_lora(2)
    model.backbone.token_embedding.enable_lora(2)
    randomized(model)  # the adapters too, which start at zero
    inputs = {name: np.array([[2, 7, 9, 3]]) for name in ("token_ids", "padding_mask")}
    inputs["segment_ids"] = 0 * inputs["token_ids"]
    model.save_to_hugging_face(tmp_path)
    back = BertClassifier.from_preset(tmp_path)
    assert not [path for path in weights_of(back) if "lora" in path]
    assert_close(back(inputs), model(inputs))
    merged, own = (m.backbone.blocks[0].attention.query_key_value for m in (back, model))
    assert not np.array_equal(merged.kernel, own._kernel)


def test_a_quantized_model_is_refused(backbone, tmp_path):
    model = BertClassifier(backbone(num_layers=1), 2)
    model.backbone.blocks[0].intermediate_dense.quantize("int8")
    with pytest.raises(ValueError, match=r"is quantized \(int8\).*before quantize"):
        model.save_to_hugging_face(tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


@pytest.mark.parametrize(
    ("head", "encoder", "message"),
    [
        ({"masked_lm_epsilon": 1e-3}, {}, "masked_lm_epsilon=0.001; .* 1e-12"),
        ({"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'; .* 'gelu'"),
        ({}, {"activation": "softsign"}, "activation='softsign'; .* 'gelu_approximate'"),
    ],
)
def test_what_transformers_lacks_is_refused(backbone, tmp_path, head, encoder, message):
    with pytest.raises(ValueError, match=message):
        BertPretrainer(backbone(num_layers=1, **encoder), **head).save_to_hugging_face(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_bfloat16_is_written(encoder, folder, as_ours, same, tmp_path):
    import keras

    source = folder(encoder)
    keras.config.set_dtype_policy("bfloat16")
    try:
        BertBackbone.from_preset(source).save_to_hugging_face(tmp_path / "narrow")
    finally:
        keras.config.set_dtype_policy("float32")
    written = load_file(tmp_path / "narrow" / "model.safetensors")
    assert {str(tensor.dtype) for tensor in written.values()} == {"bfloat16"}
    back = BertBackbone.from_preset(tmp_path / "narrow")
    expected = as_ours({f"bert.{name}": t.astype("float32") for name, t in written.items()})
    assert same(back, expected)
