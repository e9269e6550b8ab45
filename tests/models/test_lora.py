"""LoRA: adapters and the head are trained, saved alone, loaded and merged."""

import json

import numpy as np
import pytest
from keras import ops

from keras_bert import (
    BertClassifier,
    BertClassifierPreprocessor,
)

LABELS = np.arange(8) % 2


def make(make_backbone, values=None, **arguments):
    """Makes a classifier, with the weights of another one's encoder if they are given."""
    model = BertClassifier(make_backbone(**arguments), num_classes=2, dropout=0.0)
    restore(model, values or {})
    return model


def restore(model, values):
    for weight in model.backbone.weights:
        weight.assign(values.get(weight.path, weight))


def encoder(model):
    return {w.path: ops.convert_to_numpy(w) for w in model.backbone.weights if "lora" not in w.path}


def as_if_trained(model):
    """Gives a model adapters, and them and its head values as if they were trained."""
    model.enable_lora(rank=2, alpha=4)
    for variable in model.trainable_variables:
        variable.assign(np.linspace(-0.5, 0.5, np.prod(variable.shape)).reshape(variable.shape))
    return model


@pytest.fixture
def adapted(make_backbone):
    """`(model, its encoder's weights)`."""
    model = make(make_backbone)
    before = encoder(model)
    return as_if_trained(model), before


@pytest.mark.usefixtures("eager_compile")
def test_only_adapters_and_the_head_are_trained_after_everything_was(make_backbone, inputs):
    model = make(make_backbone)
    model.fit(inputs, LABELS, verbose=0)
    before = encoder(model)
    model.enable_lora(rank=2)
    model.fit(inputs, LABELS, epochs=2, verbose=0)
    *adapters, kernel, bias = model.trainable_variables
    assert (kernel.path, bias.path) == ("logits/kernel", "logits/bias")
    assert len(adapters) == 8 and all("/lora_kernel_" in v.path for v in adapters)
    after = encoder(model)
    assert all(np.array_equal(after[path], value) for path, value in before.items())
    assert all(np.any(v) for v in adapters)


def test_merged_adapters_give_the_same_model(
    adapted, make_backbone, inputs, assert_close, difference, tmp_path
):
    model, before = adapted
    expected = ops.convert_to_numpy(model(inputs))
    assert difference(make(make_backbone, before)(inputs), expected) > 1e-3
    model.save_to_preset(tmp_path / "preset")
    loaded = BertClassifier.from_preset(tmp_path / "preset")
    model.merge_lora()
    fresh = make(make_backbone)
    for each in (model, loaded):
        assert_close(each(inputs), expected)
        for kind in ("trainable_variables", "weights"):
            paths, found = ([v.path for v in getattr(m, kind)] for m in (fresh, each))
            assert found == paths
    model.enable_lora(rank=1)


@pytest.mark.parametrize("name", ["classes", "tags", "questions", "vectors", "pretrainer"])
def test_a_folder_of_adapters_gives_the_same_model(
    name, make_case, make_backbone, inputs, assert_close, tmp_path
):
    encoder = make_backbone(num_layers=2)
    encoder.save_to_hugging_face(tmp_path / "base")
    model = as_if_trained(make_case(name, encoder))
    model.save_lora(tmp_path / "lora", str(tmp_path / "base"))
    assert {p.name for p in (tmp_path / "lora").iterdir()} == {
        "adapter_config.json", "adapter_model.safetensors", "config.json"
    }  # fmt: skip
    loaded = type(model).from_preset(tmp_path / "lora")
    assert not loaded.load_report.new
    if name == "pretrainer":
        inputs = {**inputs, "mask_positions": np.ones((len(inputs["token_ids"]), 1), "int32")}
    assert_close(loaded(inputs), model(inputs))  # eagerly: oneDNN's GELU in graphs rounds otherwise


def test_names_of_classes_come_with_the_adapters(make_backbone, letters, tmp_path):
    encoder = make_backbone()
    encoder.save_to_hugging_face(tmp_path / "base")
    reader = BertClassifierPreprocessor(letters, 8, label_names=["no", "yes"])
    model = as_if_trained(BertClassifier(encoder, preprocessor=reader))
    model.save_lora(tmp_path / "lora", str(tmp_path / "base"))
    assert BertClassifier.from_preset(tmp_path / "lora", preprocessor=None).num_classes == 2
    config = json.loads((tmp_path / "lora" / "config.json").read_text())
    assert config["id2label"] == {"0": "no", "1": "yes"}


def test_merged_weights_are_not_rounded_to_the_compute_dtype(make_backbone, tmp_path):
    model = make(make_backbone, dtype="mixed_bfloat16")
    before = encoder(model)
    model.enable_lora(rank=2)  # which changes nothing yet
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    model.merge_lora()
    loaded = [BertClassifier.from_preset(tmp_path / name) for name in ("preset", "theirs")]
    for each in (model, *loaded):
        assert all(np.array_equal(encoder(each)[path], value) for path, value in before.items())


def test_what_cannot_be_adapted_is_refused(adapted, make_backbone, tmp_path, refused):
    model, _ = adapted
    plain = make(make_backbone)
    refused("rank .* got 0", plain.enable_lora, 0)
    refused("alpha .* got nan", plain.enable_lora, 1, float("nan"))
    refused("alpha .* got 'x'", plain.enable_lora, 1, "x")
    refused("call enable_lora first", plain.save_lora, tmp_path / "lora", "base")
    refused("has LoRA adapters already", model.enable_lora, 2)
    plain.quantize("int8")
    plain.enable_lora(2)
    refused("is quantized", plain.save_lora, tmp_path / "lora", "base")
