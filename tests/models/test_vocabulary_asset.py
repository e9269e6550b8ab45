"""The vocabulary in `.keras` files: an asset, and the list in the config of older files."""

import json
import zipfile

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier

ASSET = "assets/vocab.txt"


@pytest.fixture
def classifier(make_case, backbone):
    return make_case("classes", backbone)


def tokenizer_config(config):
    """The tokenizer's part of a task's serialized config."""
    return config["config"]["preprocessor"]["config"]["tokenizer"]


def rewrite(path, change, without=()):
    """Writes a `.keras` file again: `change` edits its dict of members in place."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in without}
    config = json.loads(members["config.json"])
    change(config, members)
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def assert_same(loaded, task):
    assert loaded.preprocessor.get_config() == task.preprocessor.get_config()
    texts = ["a b", "c [x"]
    tokens = task.preprocessor.tokenizer.tokenize_with_offsets(texts)
    assert loaded.preprocessor.tokenizer.tokenize_with_offsets(texts) == tokens
    for mine, theirs in zip(task.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
def test_a_file_holds_the_vocabulary_as_an_asset_and_may_hold_it_in_the_config(
    classifier, tmp_path
):
    task, path = classifier, tmp_path / "task.keras"
    keras.saving.save_model(task, path)
    words = task.preprocessor.tokenizer.get_vocabulary()
    with zipfile.ZipFile(path) as archive:
        assert archive.read(ASSET).decode().splitlines() == words
        config = json.loads(archive.read("config.json"))
    assert tokenizer_config(config)["vocabulary"].keys() == {"size", "sha256"}
    assert_same(keras.saving.load_model(path), task)
    task.save(tmp_path / "folder", zipped=False)
    assert (tmp_path / "folder" / ASSET).is_file()
    assert_same(keras.saving.load_model(tmp_path / "folder"), task)
    # As in older files.
    rewrite(path, lambda c, _: tokenizer_config(c).update(vocabulary=words), without=[ASSET])
    assert_same(keras.saving.load_model(path), task)


def test_a_task_inside_another_model_keeps_its_vocabulary(classifier, inputs, tmp_path):
    places = {n: keras.Input([12], dtype="int32", name=n) for n in inputs}
    outer = keras.Model(places, keras.layers.Softmax()(classifier(places)))
    outer.save(tmp_path / "outer.keras")
    loaded = keras.saving.load_model(tmp_path / "outer.keras")
    [task] = [layer for layer in loaded.layers if isinstance(layer, BertClassifier)]
    assert_same(task, classifier)


def test_a_file_with_another_vocabulary_does_not_load(classifier, tmp_path, refused):
    path = tmp_path / "task.keras"
    classifier.save(path)
    rewrite(path, lambda _, m: m.update({ASSET: m[ASSET].replace(b"\nb\n", b"\nB\n")}))
    refused("not the vocabulary that the model was saved with", keras.saving.load_model, path)


def test_a_tokenizer_without_its_asset_says_so(classifier, tmp_path, refused):
    path = tmp_path / "task.keras"
    classifier.save(path)
    rewrite(path, lambda config, members: None, without=[ASSET])
    loaded = keras.saving.load_model(path)
    tokenizer = loaded.preprocessor.tokenizer
    assert tokenizer.vocabulary_size() == 30 and "30 tokens" in repr(tokenizer)
    assert not hasattr(tokenizer, "no_such_name")
    for ask in (lambda: loaded.answer(["a"]), lambda: tokenizer.cls_token_id):
        refused("vocabulary of 30 tokens isn't loaded", ask)
