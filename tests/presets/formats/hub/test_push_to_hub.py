"""Uploads to the hub: one commit that loads again, and errors before any long work."""

import re
from functools import partial

import pytest

from keras_bert import BertClassifier, BertTask
from keras_bert.files.new_folder import CARD_MARK
from keras_bert.presets.hub import push_to_hub
from tests.presets.formats.hub.conftest import commit_of

OURS = {".gitattributes", "checksums.json", "config.json", "model.weights.h5", "README.md"}


@pytest.fixture
def push(hub, classifier):
    """Uploads the classifier."""
    return partial(push_to_hub, classifier, token=hub.token)


def on_hub(hub):
    folder = hub.models["user/tiny"]["main"]
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_model_is_uploaded_in_one_commit_and_loads(hub, push, classifier, same):
    handle = push("hf://user/tiny", private=True, commit_message="The first")
    assert handle == f"hf://user/tiny@{commit_of(hub.models['user/tiny']['main'])}"
    assert hub.commits == [{"name": "user/tiny", "message": "The first", "deleted": []}]
    assert hub.private == {"user/tiny"}
    assert on_hub(hub) == {*OURS, "preprocessor.json", "vocab.txt"}
    text = (hub.models["user/tiny"]["main"] / "README.md").read_text()
    assert 'keras_bert.BertClassifier.from_preset("hf://user/tiny")' in text
    assert "path/to" not in text
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
    deleted = ["1_Pooling/config.json", "bert_model.ckpt.index", "preprocessor.json", "vocab.txt"]
    assert sorted(hub.commits[1]["deleted"]) == deleted
    assert on_hub(hub) == OURS | others and card.read_text() == edited
    assert same(BertClassifier.from_preset("hf://user/tiny"), classifier)


def test_a_private_upload_never_goes_to_a_public_model(hub, push, refused):
    push("user/tiny")
    refused("already, and public.*leave out private=True", push, "user/tiny", private=True)
    assert len(hub.commits) == 1
    for _ in range(2):
        push("user/secret", private=True)
    assert len(hub.commits) == 3


def test_an_invalid_name_is_refused(hub, push, refused):
    for name in ("tiny", "a/b/c", "user/ti ny", "user/..", "user/a--b", "", None):
        refused(re.escape(repr(name)), push, name)
    assert not hub.asked


def test_a_token_is_needed_before_the_model_is_saved(hub, push, classifier, monkeypatch, refused):
    monkeypatch.setattr(type(classifier), "save_to_preset", None)  # a TypeError if it comes first
    for token in (None, "hf_wrong"):
        refused("refuses 'user/tiny'.*hf auth.*401", push, "user/tiny", token=token)
    assert not hub.models


def test_the_refusals_of_the_hub_are_explained(
    hub, push, monkeypatch, point_to, tmp_path, no_waiting, refused
):
    hub.refusals["other/tiny"] = (403, None)
    refused("refuses 'other/tiny'.*403", push, "other/tiny")
    hub.refusals["other/tiny"] = (500, None)
    refused("could not be uploaded.*same call again", push, "other/tiny")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused("HF_HUB_OFFLINE", push, "user/tiny")
    point_to("http://127.0.0.1:9", tmp_path / "cache")
    refused("could not be uploaded to http://127.0.0.1:9: .*again", push, "user/tiny")
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", None)  # an answer that is no hub's
    refused("could not be uploaded .*NoneType", push, "user/tiny")
