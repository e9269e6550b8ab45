"""Files of strangers: nothing is built before it is checked, and no path leaves the folder."""

import json
import os
import shutil
import zipfile

import h5py
import keras
import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPreprocessor,
    BertTask,
    BertTokenizer,
)
from keras_bert.presets.preset import PresetModel

SECRET = __file__  # of this machine
FAST = {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"}}


def assert_refused(source, message, model=BertBackbone, **arguments):
    with pytest.raises(ValueError, match=message):
        model.from_preset(source, **arguments)


@pytest.fixture(scope="module")
def classifier_folder(backbone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    BertClassifier(backbone(), num_classes=2).save_to_preset(folder)
    return folder


@pytest.fixture
def preset(classifier_folder, tmp_path):
    return shutil.copytree(classifier_folder, tmp_path / "bert")


@pytest.mark.parametrize("key", ["num_hidden_layers", "vocab_size", "hidden_size"])
@pytest.mark.parametrize("value", [10**6, 10**9, 10**18])
def test_a_huge_config_is_refused_before_a_model_is_made(encoder, folder, key, value):
    assert_refused(folder(encoder, {key: value}), f"config.json: {key}|a model of at least")


def test_a_config_of_a_preset_that_names_too_much_is_refused(preset):
    written = (preset / "config.json").read_text()
    config = json.loads(written)
    (preset / "checksums.json").write_text("{}")
    for name in ("num_layers", "vocabulary_size", "hidden_dim", "num_classes"):
        size = config["config"].get(name) or config["config"]["backbone"]["config"][name]
        changed = written.replace(f'"{name}": {size}', f'"{name}": 1000000')
        (preset / "config.json").write_text(changed)
        assert_refused(preset, "a model of at least|num_classes must be an integer", BertTask)
    for name in ("sizes", "finetune", "AdamW"):
        (preset / "config.json").write_text(json.dumps({**config, "class": f"keras_bert>{name}"}))
        assert_refused(preset, "config.json names .* isn't defined here as a Model", BertTask)


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
    message = "The tokenizer of .* belong to different models"
    assert_refused(folder(encoder, files=files), message, BertClassifier, num_classes=2)


def changed(model, path, value):
    """Sets the last number of a weight."""
    [weight] = [weight for weight in model.weights if weight.path == path]
    array = np.array(keras.ops.convert_to_numpy(weight))
    array.reshape(-1)[-1] = value
    weight.assign(array)
    return model


@pytest.mark.parametrize(
    ("kind", "file", "name", "value"),
    [
        ("preset", "model.weights.h5", "pooler/bias", np.nan),
        ("hugging_face", "model.safetensors", "bert.pooler.dense.bias", np.inf),
    ],
)
def test_a_weight_that_is_not_finite_is_refused(backbone, tmp_path, save, file, name, value):
    encoder = backbone(num_layers=1)
    save(changed(BertClassifier(encoder, num_classes=2), "pooler/bias", value), tmp_path / "bert")
    assert_refused(tmp_path / "bert", rf"{file}: {name} must be finite numbers", BertTask)


def test_pointers_of_git_lfs_say_what_to_run(preset):
    for name in ("model.weights.h5", "config.json"):
        (preset / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
        assert_refused(preset, f"{name} is a pointer of Git LFS: run git lfs pull")


def test_so_is_one_of_half_precision(backbone, tmp_path):
    model = changed(backbone(num_layers=1, dtype="bfloat16"), "pooler/bias", np.inf)
    for save in (BertBackbone.save_to_preset, PresetModel.save_to_hugging_face):
        save(model, tmp_path / save.__name__)
        assert_refused(tmp_path / save.__name__, "pooler.*bias must be finite numbers")
    changed(model, "pooler/bias", 6e4).save_to_preset(tmp_path / "whole")
    assert BertBackbone.from_preset(tmp_path / "whole").dtype_policy.name == "bfloat16"


def test_links_and_bombs_in_weight_files_are_refused(preset):
    path = preset / "model.weights.h5"
    whole = path.read_bytes()
    (preset / "checksums.json").write_text("{}")
    for add in (
        lambda file: file.__setitem__("more", h5py.ExternalLink("other.h5", "/x")),
        lambda file: file.create_dataset("more", (10**9,), "float32", compression="gzip"),
        lambda file: file.create_dataset("more", (9,), "float32", external=[(SECRET, 0, 36)]),
        lambda file: file.create_virtual_dataset("more", h5py.VirtualLayout((9,), "float32")),
    ):
        path.write_bytes(whole)
        with h5py.File(path, "a") as file:
            add(file)
        assert_refused(preset, "model.weights.h5 is damaged, a truncated file or unsafe")


def pipe(path, elsewhere):
    path.unlink()
    os.mkfifo(path)


def link(path, elsewhere):
    """Replaces a file by a link out of its folder."""
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.fixture(scope="module")
def folders(backbone, words, tmp_path_factory):
    """An embedder's folder in each format."""
    encoder = backbone(num_layers=1, activation="gelu_approximate")
    model = BertEmbedder(encoder, preprocessor=BertPreprocessor(BertTokenizer(words), 16))
    folder = tmp_path_factory.mktemp("embedder")
    for name in ("preset", "hugging_face"):
        getattr(model, f"save_to_{name}")(folder / name)
    return folder


@pytest.fixture
def folder_of(folders, google, tmp_path):
    """Writes a whole folder of a format."""

    def write(name):
        if name == "google":
            return google()
        return shutil.copytree(folders / name, tmp_path / "theirs")

    return write


@pytest.mark.parametrize(
    ("name", "file", "damage"),
    [
        ("preset", "config.json", pipe),
        ("preset", "model.weights.h5", pipe),
        ("preset", "vocab.txt", link),
        ("hugging_face", "config.json", pipe),
        ("hugging_face", "modules.json", pipe),
        ("hugging_face", "tokenizer_config.json", pipe),
        ("hugging_face", "model.safetensors", link),
        ("hugging_face", "vocab.txt", link),
        ("google", "bert_config.json", pipe),
        ("google", "bert_model.ckpt.data-00000-of-00001", link),
        ("google", "vocab.txt", link),
    ],
)
def test_a_file_is_no_pipe_and_no_link_out_of_its_folder(
    folder_of, tmp_path, name, file, damage, tensorflow
):
    folder = folder_of(name)
    damage(folder / file, tmp_path / "elsewhere")
    message = "is a pipe|must be a file" if damage is pipe else "must be a file, and no link"
    assert_refused(folder, f"{file} ({message})", BertTask)


def test_so_is_a_shard(encoder, folder, write_shards, tmp_path):
    source = folder(None)
    shard, _ = write_shards(encoder, source)
    link(shard, tmp_path / "elsewhere")
    assert_refused(source, "00001-of-00002.safetensors must be a file, and no link")


def test_links_within_a_folder_and_in_the_cache_of_the_hub_are_followed(folder_of, tmp_path):
    folder = folder_of("hugging_face")
    cache = tmp_path / "models--a--b"
    (cache / "blobs").mkdir(parents=True)
    (cache / "snapshots/0123/1_Pooling").mkdir(parents=True)
    for number, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
        linked = cache / "snapshots/0123" / path.relative_to(folder)
        path.rename(cache / "blobs" / str(number))
        linked.symlink_to(cache / "blobs" / str(number))
        path.with_suffix(".whole").write_bytes(linked.read_bytes())
        path.symlink_to(path.with_suffix(".whole").name)
    for source in (cache / "snapshots/0123", folder):
        assert BertTask.from_preset(source).preprocessor.tokenizer.vocabulary_size() == 30


def test_a_slice_of_a_huge_tensor_is_refused(google, golden, tensorflow):
    name = "bert/embeddings/word_embeddings"
    first = golden["weight"][name][:1]
    whole = f"{10**7} {first.shape[1]} 0,1:0,{first.shape[1]}"
    tensors = {**golden["weight"], name: first}
    source = google(tensors, {"vocab_size": 10**7}, slices={name: whole})
    assert_refused(source, "bert_model.ckpt describes .* values, more than its files", BertTask)


@pytest.mark.slow
def test_bombs_in_pytorch_files_are_refused(torch, encoder, folder):
    source = folder(None, {"vocab_size": 10**7})
    path = source / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("archive/data.pkl", bytes(10**7))
    assert path.stat().st_size < 1000
    assert_refused(source, "is compressed, or names more than it holds")
    state = {name: torch.tensor(tensor) for name, tensor in encoder.items()}
    for huge in (torch.zeros(1, 8).expand(10**7, 8), torch.empty(10**7, 8, device="meta")):
        torch.save({**state, "bert.embeddings.word_embeddings.weight": huge}, path)
        assert_refused(source, "describes .* values, more than its files hold")


def test_a_tokenizer_s_config_holds_no_path(words, tmp_path, refused):
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    config = {"vocabulary": str(tmp_path / "vocab.txt"), "lowercase": True}
    refused("must hold its vocabulary as a list", BertTokenizer.from_config, config)
    assert BertTokenizer.from_config({**config, "vocabulary": words}).vocabulary_size() == 30
