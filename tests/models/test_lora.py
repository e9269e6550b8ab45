"""LoRA: adapters and the head are trained, saved alone, loaded and merged."""

import json

import numpy as np
import pytest
from keras import ops

from keras_bert import BertBackbone, BertClassifier

LABELS = np.arange(8) % 2


@pytest.fixture
def make(make_backbone):
    """Makes a classifier."""

    def make(**arguments):
        return BertClassifier(make_backbone(**arguments), num_classes=2, dropout=0.0)

    return make


def encoder(model):
    return {w.path: ops.convert_to_numpy(w) for w in model.backbone.weights if "lora" not in w.path}


def as_if_trained(model):
    """Gives a model adapters, and them and its head values as if they were trained."""
    model.enable_lora(rank=2, alpha=4)
    for variable in model.trainable_variables:
        variable.assign(np.linspace(-0.5, 0.5, np.prod(variable.shape)).reshape(variable.shape))
    return model


@pytest.mark.usefixtures("eager_compile")
def test_only_adapters_and_the_head_are_trained_after_everything_was(make, inputs):
    model = make()
    model.fit(inputs, LABELS)
    before = encoder(model)
    model.enable_lora(rank=2)
    model.fit(inputs, LABELS, epochs=2)
    *adapters, kernel, bias = model.trainable_variables
    assert (kernel.path, bias.path) == ("logits/kernel", "logits/bias")
    assert len(adapters) == 8 and all("/lora_kernel_" in v.path for v in adapters)
    after = encoder(model)
    assert all(np.array_equal(after[path], value) for path, value in before.items())
    assert all(np.any(v) for v in adapters)
    model.merge_lora()
    paths = [[v.path for v in each.trainable_variables] for each in (model, make())]
    assert paths[0] == paths[1]
    model.enable_lora(rank=1)


@pytest.mark.slow
def test_a_folder_of_adapters_gives_the_same_model(
    make_case, make_backbone, inputs, assert_close, tmp_path
):
    base = str(tmp_path / "base")
    make_backbone(num_layers=2).save_to_hugging_face(base)
    for name in ("labels", "tags", "questions", "vectors", "pretrainer"):
        folder = tmp_path / name
        model = as_if_trained(make_case(name, BertBackbone.from_preset(base)))
        model.save_lora(folder, base)
        assert {path.name for path in folder.iterdir()} == {
            "adapter_config.json", "adapter_model.safetensors", "config.json"
        }  # fmt: skip
        loaded = type(model).from_preset(folder)
        assert not loaded.load_report.new
        if name == "pretrainer":
            inputs = {**inputs, "mask_positions": np.ones((8, 1), "int32")}
        model.save_to_preset(folder / "merged")
        # All run eagerly: oneDNN's GELU in graphs rounds otherwise.
        for each in (loaded, type(model).from_preset(folder / "merged")):
            assert_close(each(inputs), model(inputs), name=name)
    config = json.loads((tmp_path / "labels" / "config.json").read_text())
    assert config["id2label"] == {"0": "x", "1": "y", "2": "z"}


def test_a_saved_model_has_its_adapters_and_loads_weights_without_any(
    make, inputs, reloaded, assert_close, tmp_path
):
    model = as_if_trained(make())
    loaded = reloaded(model)
    assert_close(loaded.get_weights(), model.get_weights(), sums=0)
    model.merge_lora()
    model.save_weights(tmp_path / "merged.weights.h5")
    loaded.load_weights(tmp_path / "merged.weights.h5")
    assert_close(loaded(inputs), model(inputs))


def test_merged_weights_are_not_rounded_to_the_compute_dtype(make, tmp_path):
    model = make(dtype="mixed_bfloat16")
    before = encoder(model)
    model.enable_lora(rank=2)  # which changes nothing yet
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    model.merge_lora()
    loaded = [BertClassifier.from_preset(tmp_path / name) for name in ("preset", "theirs")]
    for each in (model, *loaded):
        assert all(np.array_equal(encoder(each)[path], value) for path, value in before.items())


def test_what_cannot_be_adapted_is_refused(make, tmp_path, refused):
    model = make()
    refused("rank .* got 0", model.enable_lora, 0)
    model.quantize("int8")
    model.enable_lora(2)
    refused("is quantized", model.save_lora, tmp_path / "lora", "base")
