"""Files of strangers: nothing is built before it is checked, and no path leaves the folder."""

import os
import shutil

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPreprocessor,
    BertTask,
    BertTokenizer,
)

SECRET = __file__  # of this machine


@pytest.fixture(scope="module")
def folders(backbone, words, tmp_path_factory):
    """Folders of a classifier and of an embedder, which are copied before a test changes them."""
    parent = tmp_path_factory.mktemp("folders")
    BertClassifier(backbone(), num_classes=2).save_to_preset(parent / "classifier")
    encoder = backbone(num_layers=1, activation="gelu_approximate")
    model = BertEmbedder(encoder, preprocessor=BertPreprocessor(BertTokenizer(words), 16))
    model.save_to_preset(parent / "preset")
    model.save_to_hugging_face(parent / "hugging_face")
    return parent


@pytest.fixture
def preset(folders, tmp_path):
    return shutil.copytree(folders / "classifier", tmp_path / "bert")


def test_a_config_that_names_too_much_is_refused_before_a_model_is_made(
    encoder, folder, preset, refused
):
    for key in ("num_hidden_layers", "vocab_size", "hidden_size"):
        for value in (10**6, 10**18):
            source = folder(encoder, {key: value}, name=f"{key} {value}")
            message = f"config.json: {key}|a model of at least"
            refused(message, BertBackbone.from_preset, source)
    path = preset / "config.json"
    written = path.read_text()
    (preset / "checksums.json").write_text("{}")
    for name, size in (("num_layers", 2), ("vocabulary_size", 30), ("num_classes", 2)):
        path.write_text(written.replace(f'"{name}": {size}', f'"{name}": 1000000'))
        message = "a model of at least|num_classes must be an integer"
        refused(message, BertTask.from_preset, preset)
    for name in ("sizes", "AdamW"):
        path.write_text(written.replace("keras_bert>BertClassifier", f"keras_bert>{name}"))
        message = "config.json names .* isn't defined here as a Model"
        refused(message, BertTask.from_preset, preset)


def test_a_weight_that_is_not_finite_is_refused(backbone, tmp_path, refused):
    model = backbone(num_layers=1, dtype="bfloat16")
    preset, theirs = tmp_path / "preset", tmp_path / "theirs"
    for value in (np.nan, np.inf):
        model.pooler.bias.assign([*7 * [0], value])
        model.save_to_preset(preset)
        model.save_to_hugging_face(theirs)
        for folder, weight in (
            (preset, "model.weights.h5: pooler/bias"),
            (theirs, "model.safetensors: pooler.dense.bias"),
        ):
            refused(f"{weight} must be finite numbers", BertBackbone.from_preset, folder)
    model.pooler.bias.assign([*7 * [0], 6e4])
    model.save_to_preset(preset)
    assert BertBackbone.from_preset(preset).dtype_policy.name == "bfloat16"


def test_pointers_of_git_lfs_say_what_to_run(preset, refused):
    for name in ("model.weights.h5", "config.json"):
        (preset / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
        message = f"{name} is a pointer of Git LFS: run git lfs pull"
        refused(message, BertTask.from_preset, preset)


def test_links_and_bombs_in_weight_files_are_refused(preset, refused):
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
        message = "model.weights.h5 is damaged, a truncated file or unsafe"
        refused(message, BertTask.from_preset, preset)


PIPES = {
    "preset": ["config.json", "model.weights.h5"],
    "hugging_face": ["config.json", "modules.json", "tokenizer_config.json"],
    "google": ["bert_config.json"],
}
LINKS = {
    "preset": ["vocab.txt"],
    "hugging_face": ["model.safetensors", "vocab.txt"],
    "shards": ["model-00001-of-00002.safetensors"],
    "google": ["bert_model.ckpt.data-00000-of-00001", "vocab.txt"],
}


def test_a_file_is_no_pipe_and_no_link_out_of_its_folder(
    folders, google, write_shards, tmp_path, tensorflow, refused
):
    google(name="google")
    for name in ("preset", "hugging_face"):
        shutil.copytree(folders / name, tmp_path / name)
    shards = shutil.copytree(folders / "hugging_face", tmp_path / "shards")
    write_shards(load_file(shards / "model.safetensors"), shards)
    (shards / "model.safetensors").unlink()
    elsewhere = tmp_path / "elsewhere"
    for rows in (PIPES, LINKS):
        for name, files in rows.items():
            for file in files:
                path = tmp_path / name / file
                path.rename(elsewhere)
                if rows is PIPES:
                    os.mkfifo(path)
                else:
                    path.symlink_to(elsewhere)
                message = "is a pipe|must be a file" if rows is PIPES else "must be a file, and no"
                refused(f"{file} ({message})", BertTask.from_preset, path.parent)
                elsewhere.replace(path)
    path.rename(path.with_suffix(".whole"))
    path.symlink_to(path.with_suffix(".whole").name)  # as in the hub's cache, within a folder
    assert BertTask.from_preset(path.parent).preprocessor.tokenizer.vocabulary_size() == 40


def test_a_slice_of_a_huge_tensor_is_refused(google, golden, tensorflow, refused):
    name = "bert/embeddings/word_embeddings"
    first = golden["weight"][name][:1]
    whole = f"{10**7} {first.shape[1]} 0,1:0,{first.shape[1]}"
    tensors = {**golden["weight"], name: first}
    source = google(tensors, {"vocab_size": 10**7}, slices={name: whole})
    message = "bert_model.ckpt describes .* values, more than its files"
    refused(message, BertTask.from_preset, source)


def test_a_tokenizer_s_config_holds_no_path(words, tmp_path, refused):
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    config = {"vocabulary": str(tmp_path / "vocab.txt"), "lowercase": True}
    refused("must hold its vocabulary as a list", BertTokenizer.from_config, config)
    assert BertTokenizer.from_config({**config, "vocabulary": words}).vocabulary_size() == 30
