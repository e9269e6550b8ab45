"""Files of strangers: nothing is built before it is checked, and no path leaves the folder."""

import json

import h5py
import keras
import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_bert import BertBackbone, BertClassifier, BertTask, BertTokenizer
from keras_bert.presets.save_checkpoint import (
    save_to_google,
    save_to_hugging_face,
    save_to_keras_hub,
)

FAST = {
    "normalizer": {"type": "BertNormalizer"},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


def assert_refused(source, message, model=BertBackbone, **arguments):
    with pytest.raises(ValueError, match=message):
        model.from_preset(source, **arguments)


@pytest.mark.parametrize("key", ["num_hidden_layers", "vocab_size", "hidden_size"])
@pytest.mark.parametrize("value", [10**6, 10**9, 10**18])
def test_a_huge_config_is_refused_before_a_model_is_made(encoder, folder, key, value):
    assert_refused(folder(encoder, {key: value}), "config.json")


@pytest.mark.parametrize("key", ["num_layers", "vocabulary_size", "hidden_dim"])
def test_a_huge_config_of_a_preset_is_refused(backbone, tmp_path, key):
    backbone().save_to_preset(tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    config = json.loads(path.read_text())
    config["config"][key] = 10**6
    path.write_text(json.dumps(config))
    assert_refused(tmp_path / "bert", "describes a model of at least")


def test_a_huge_head_of_a_preset_is_refused(backbone, tmp_path):
    BertClassifier(backbone(), num_classes=2).save_to_preset(tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    path.write_text(path.read_text().replace('"num_classes": 2', '"num_classes": 1000000000'))
    assert_refused(tmp_path / "bert", "config.num_classes must be from 0 to", BertTask)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("added_tokens.json", {"x": 10**9}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"999999999": {"content": "x"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"9" * 50: {"content": "x"}}}),
        ("tokenizer.json", {**FAST, "added_tokens": [{"id": 10**9, "content": "x"}]}),
        ("tokenizer.json", {**FAST, "model": {"vocab": {"x": 10**9}}}),
    ],
)
def test_huge_ids_are_refused_before_a_vocabulary_is_made(encoder, folder, words, file, content):
    files = {file: content}
    if "model" not in content:
        files["vocab.txt"] = "\n".join(words)
    message = "belong to different models|named by an id"
    assert_refused(folder(encoder, files=files), message, BertClassifier, num_classes=2)


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/hostname", "a/../../b"])
def test_an_index_that_leaves_the_folder_is_refused(encoder, folder, tmp_path, name):
    save_file(encoder, tmp_path / "outside.safetensors")
    index = {"weight_map": dict.fromkeys(encoder, name)}
    source = folder(None, files={"model.safetensors.index.json": index})
    assert_refused(source, "index.json: weight_map.* must be a path within the folder")


def test_modules_that_leave_the_folder_are_refused(encoder, folder):
    modules = [{"type": "models.Transformer", "path": "../elsewhere"}]
    assert_refused(folder(encoder, files={"modules.json": modules}), "path must be a path within")


@pytest.mark.parametrize("kind", ["int32", "int8", "bool", "complex64"])
def test_tensors_that_are_not_floats_are_refused(encoder, folder, kind):
    encoder["bert.pooler.dense.bias"] = encoder["bert.pooler.dense.bias"].astype(kind)
    assert_refused(folder(encoder), "safetensors: bert.pooler.dense.bias holds .*floating point")


def changed(model, path, value):
    """Sets the last number of a weight."""
    [weight] = [weight for weight in model.weights if weight.path == path]
    array = np.array(keras.ops.convert_to_numpy(weight))
    array.reshape(-1)[-1] = value
    weight.assign(array)
    return model


@pytest.mark.parametrize(
    ("save", "file", "name", "value"),
    [
        (BertClassifier.save_to_preset, "model.weights.h5", "pooler/bias", np.nan),
        (save_to_hugging_face, "model.safetensors", "bert.pooler.dense.bias", np.inf),
        (save_to_google, "bert_model.ckpt", "bert/pooler/dense/bias", -np.inf),
        (save_to_keras_hub, "model.weights.h5", "pooled_dense/bias", np.nan),
        (save_to_keras_hub, "task.weights.h5", "logits/bias", np.inf),
    ],
)
def test_a_weight_that_is_not_finite_is_refused(backbone, tmp_path, save, file, name, value):
    if save is save_to_keras_hub:
        pytest.importorskip("keras_nlp")
    ours = "logits/bias" if "logits" in name else "pooler/bias"
    model = BertClassifier(backbone(activation="gelu_approximate"), num_classes=2)
    save(changed(model, ours, value), tmp_path / "bert")
    assert_refused(tmp_path / "bert", rf"{file}: {name} holds NaN or infinity", BertTask)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_so_is_one_of_half_precision(backbone, tmp_path, kind):
    model = changed(backbone(dtype=kind), "pooler/bias", np.inf)
    for save in (BertBackbone.save_to_preset, save_to_hugging_face):
        save(model, tmp_path / save.__name__)
        assert_refused(tmp_path / save.__name__, "pooler.*bias holds NaN or infinity")
    changed(model, "pooler/bias", 6e4).save_to_preset(tmp_path / "whole")
    assert BertBackbone.from_preset(tmp_path / "whole").dtype_policy.name == kind


def test_a_changed_bit_in_the_weights_of_a_preset_is_seen(backbone, tmp_path):
    backbone().save_to_preset(tmp_path / "bert")
    path = tmp_path / "bert" / "model.weights.h5"
    whole = path.read_bytes()
    for place in np.random.default_rng(1).integers(0, len(whole), 45):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(place) % 8
        path.write_bytes(damaged)
        assert_refused(tmp_path / "bert", f"{path} is damaged")


def test_a_scalar_weight_is_refused(encoder, folder):
    encoder["bert.pooler.dense.bias"] = np.array(1.0, "float32")
    assert_refused(folder(encoder), "bert.pooler.dense.bias as a single number")


def test_links_and_bombs_in_weight_files_are_refused(backbone, tmp_path):
    for name in ("link", "bomb"):
        source = tmp_path / name
        backbone().save_to_preset(source)
        with h5py.File(source / "model.weights.h5", "a") as file:
            if name == "link":
                file["more"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
            else:
                file.create_dataset("more", (10**9,), "float32", compression="gzip")
        assert_refused(source, "model.weights.h5 is damaged, a truncated file or unsafe")


@pytest.mark.parametrize("name", ["keras_bert>sizes", "keras_bert>finetune", "keras_bert>AdamW"])
def test_a_preset_names_only_models(backbone, tmp_path, name):
    backbone().save_to_preset(tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "class": name}))
    assert_refused(tmp_path / "bert", "config.json names .* which is no Model", BertTask)


def test_a_tokenizer_s_config_holds_no_path(words, tmp_path):
    pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    config = {"vocabulary": str(tmp_path / "vocab.txt"), "lowercase": True}
    with pytest.raises(ValueError, match="must hold its vocabulary as a list"):
        BertTokenizer.from_config(config)
    assert BertTokenizer.from_config({**config, "vocabulary": words}).vocabulary_size() == 30


@pytest.fixture
def torch_file(encoder, folder):
    """Writes `pytorch_model.bin` with one tensor replaced; returns the folder."""
    torch = pytest.importorskip("torch", reason='pip install ".[parity]"')

    def write(change):
        source = folder(None)
        state = {name: torch.tensor(tensor) for name, tensor in encoder.items()}
        name = "bert.pooler.dense.weight"
        torch.save({**state, name: change(torch, state[name])}, source / "pytorch_model.bin")
        return source

    return write


@pytest.mark.slow
def test_parameters_that_require_gradients_are_read(torch_file, encoder):
    source = torch_file(lambda torch, tensor: torch.nn.Parameter(tensor))
    kernel = BertBackbone.from_preset(source).pooler.kernel
    assert np.array_equal(np.asarray(kernel), encoder["bert.pooler.dense.weight"].T)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda torch, tensor: tensor.to_sparse(), "pooler.dense.weight is a torch.sparse_coo"),
        (lambda torch, tensor: tensor.to("meta"), "pooler.dense.weight is a meta tensor"),
        (lambda torch, tensor: tensor.to(torch.complex64), "pooler.dense.weight holds complex64"),
        (lambda torch, tensor: tensor * float("nan"), "pooler.dense.weight holds NaN or infinity"),
        (lambda torch, tensor: tensor.half() / 0, "pooler.dense.weight holds NaN or infinity"),
        (
            lambda torch, tensor: torch.zeros(1).expand(10**5, 10**5),
            r"weight is of shape \[100000, 100000\] but has only 4 bytes",
        ),
    ],
)
def test_tensors_without_plain_values_are_refused(torch_file, change, message):
    assert_refused(torch_file(change), f"pytorch_model.bin.*{message}")
