"""The vocabulary in `.keras` files is an asset."""

import zipfile

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier

ASSET = "assets/vocab.txt"


@pytest.fixture
def classifier(make_case, backbone):
    return make_case("classes", backbone)


def rewrite(path, change):
    """Writes a `.keras` file again: `change` edits its dict of members in place."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
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


def test_a_task_in_a_folder_or_inside_another_model_keeps_its_vocabulary(
    classifier, inputs, tmp_path
):
    classifier.save(tmp_path / "folder", zipped=False)
    assert_same(keras.saving.load_model(tmp_path / "folder"), classifier)
    places = {n: keras.Input([12], dtype="int32", name=n) for n in inputs}
    outer = keras.Model(places, keras.layers.Softmax()(classifier(places)))
    outer.save(tmp_path / "outer.keras")
    loaded = keras.saving.load_model(tmp_path / "outer.keras")
    [task] = [layer for layer in loaded.layers if isinstance(layer, BertClassifier)]
    assert_same(task, classifier)


def test_a_file_with_another_vocabulary_does_not_load(classifier, tmp_path, refused):
    path = tmp_path / "task.keras"
    classifier.save(path)
    rewrite(path, lambda m: m.update({ASSET: m[ASSET].replace(b"\nb\n", b"\nB\n")}))
    refused("not the vocabulary that the model was saved with", keras.saving.load_model, path)


def test_a_tokenizer_without_its_asset_says_so(classifier, tmp_path, refused):
    path = tmp_path / "task.keras"
    classifier.save(path)
    rewrite(path, lambda members: members.pop(ASSET))
    loaded = keras.saving.load_model(path)
    tokenizer = loaded.preprocessor.tokenizer
    assert tokenizer.vocabulary_size() == 30 and "30 tokens" in repr(tokenizer)
    assert not hasattr(tokenizer, "no_such_name")
    for ask in (lambda: loaded.answer(["a"]), lambda: tokenizer.cls_token_id):
        refused("vocabulary of 30 tokens isn't loaded", ask)
