"""Uploads to the hub: one commit that loads again, and errors before any long work."""

import re
from functools import partial

import pytest

from keras_bert import BertClassifier, BertTask
from keras_bert.files.new_folder import CARD_MARK
from keras_bert.presets.hub import push_to_hub
from tests.presets.formats.hub.conftest import TOKEN, commit_of, contents

OURS = {"checksums.json", "config.json", "model.weights.h5", "README.md"}


@pytest.fixture
def push(hub, classifier):
    """Uploads the classifier."""
    return partial(push_to_hub, classifier, token=TOKEN)


def test_a_model_is_uploaded_in_one_commit_and_loads(hub, push, classifier, same):
    handle = push("hf://user/tiny", private=True, commit_message="The first")
    folder = hub.models["user/tiny"]["main"]
    assert handle == f"hf://user/tiny@{commit_of(folder)}"
    assert hub.commits == [("The first", [])]
    assert hub.private == {"user/tiny"}
    assert contents(folder).keys() == {*OURS, "preprocessor.json", "vocab.txt"}
    assert 'BertClassifier.from_preset("hf://user/tiny")' in (folder / "README.md").read_text()
    back = BertTask.from_preset(handle)
    assert type(back) is BertClassifier and same(back, classifier)


def test_another_upload_replaces_the_files_of_the_model(hub, push, classifier, monkeypatch, same):
    push("user/tiny")
    folder = hub.models["user/tiny"]["main"]
    others = {"results.csv", "my_config.json", "1_Pooling/notes.txt", "assets/keys.json"}
    for name in (*others, "1_Pooling/config.json", "bert_model.ckpt.index"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("theirs")
    card = folder / "README.md"
    edited = card.read_text().replace(CARD_MARK, "## Limits\n\nNone.")
    card.write_text(edited)
    monkeypatch.setattr(classifier, "preprocessor", None)
    push("user/tiny")
    deleted = [
        "1_Pooling/config.json",
        "bert_model.ckpt.index",
        "preprocessor.json",
        "vocab.txt",
    ]
    assert hub.commits[1][1] == deleted
    assert contents(folder).keys() == OURS | others and card.read_text() == edited
    assert same(BertClassifier.from_preset("hf://user/tiny"), classifier)


def test_a_private_upload_never_goes_to_a_public_model(hub, push, refused):
    push("user/tiny")
    refused("already, and public.*leave out private=True", push, "user/tiny", private=True)
    for _ in range(2):
        push("user/secret", private=True)
    assert len(hub.commits) == 3


def test_an_invalid_name_is_refused(hub, push, refused):
    for name in ("tiny", "a/b/c", "user/ti ny", "user/..", None):
        refused(re.escape(repr(name)), push, name)
    assert not hub.asked


def test_a_token_is_needed_before_the_model_is_saved(hub, push, classifier, monkeypatch, refused):
    monkeypatch.setattr(type(classifier), "save_to_preset", None)  # a TypeError if it comes first
    for token in (None, "hf_wrong"):
        refused("refuses 'user/tiny'.*hf auth.*401", push, "user/tiny", token=token)
    assert not hub.models


def test_a_hub_that_cannot_be_reached_or_answers_otherwise_is_explained(
    hub, push, monkeypatch, point_to, tmp_path, refused
):
    point_to("http://127.0.0.1:9", tmp_path / "cache")
    refused("could not be uploaded to http://127.0.0.1:9: .*again", push, "user/tiny")
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", None)
    refused("could not be uploaded .*NoneType", push, "user/tiny")
