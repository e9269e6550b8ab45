"""Uploads to the hub: one commit that loads again, and errors before any long work."""

import re

import pytest

from keras_bert import BertClassifier, BertTask
from keras_bert.files.new_folder import CARD_MARK
from keras_bert.presets.hub import push_to_hub


def on_hub(hub, name="user/tiny"):
    folder = hub.models[name]["main"]
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def card_of(hub, name="user/tiny"):
    return hub.models[name]["main"] / "README.md"


def test_a_model_is_uploaded_in_one_commit_and_loads(hub, classifier, same):
    options = {"private": True, "token": hub.token, "commit_message": "The first"}
    handle = push_to_hub(classifier, "hf://user/tiny", **options)
    assert handle == f"hf://user/tiny@{hub.commit('user/tiny', 'main')}"
    assert hub.commits == [{"name": "user/tiny", "message": "The first", "deleted": []}]
    assert hub.private == {"user/tiny"}
    files = {"checksums.json", "config.json", "model.weights.h5", "preprocessor.json", "vocab.txt"}
    files.add("README.md")
    assert on_hub(hub) == {".gitattributes", *files}
    text = card_of(hub).read_text()
    assert 'keras_bert.BertClassifier.from_preset("hf://user/tiny")' in text
    assert "path/to" not in text
    back = BertTask.from_preset(handle)
    assert type(back) is BertClassifier and same(back, classifier)


def test_another_upload_replaces_the_files_of_the_model(hub, classifier, same):
    push_to_hub(classifier, "user/tiny", token=hub.token)
    folder = hub.models["user/tiny"]["main"]
    others = {"results.csv", "my_config.json", "1_Pooling/notes.txt", "assets/keys.json"}
    for name in (*others, "1_Pooling/config.json", "bert_model.ckpt.index"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("theirs")
    classifier.preprocessor = None
    push_to_hub(classifier, "user/tiny", token=hub.token)
    deleted = ["1_Pooling/config.json", "bert_model.ckpt.index", "preprocessor.json", "vocab.txt"]
    assert sorted(hub.commits[1]["deleted"]) == deleted
    ours = {"checksums.json", "config.json", "model.weights.h5", "README.md"}
    assert on_hub(hub) == {".gitattributes"} | others | ours
    assert same(BertClassifier.from_preset("hf://user/tiny"), classifier)


def test_a_private_upload_never_goes_to_a_public_model(hub, classifier, refused):
    push_to_hub(classifier, "user/tiny", token=hub.token)
    refused(
        "already, and public.*leave out private=True",
        push_to_hub,
        classifier,
        "user/tiny",
        token=hub.token,
        private=True,
    )
    assert len(hub.commits) == 1
    push_to_hub(classifier, "user/secret", token=hub.token, private=True)
    push_to_hub(classifier, "user/secret", token=hub.token, private=True)
    assert len(hub.commits) == 3


def test_a_card_that_a_person_wrote_is_kept(hub, classifier):
    push_to_hub(classifier, "user/tiny", token=hub.token)
    edited = card_of(hub).read_text().replace(CARD_MARK, "## Limits\n\nNone.")
    card_of(hub).write_text(edited)
    push_to_hub(classifier, "user/tiny", token=hub.token)
    assert card_of(hub).read_text() == edited


@pytest.mark.parametrize("name", ["tiny", "a/b/c", "user/ti ny", "user/..", "user/a--b", "", None])
def test_an_invalid_name_is_refused(hub, classifier, name, refused):
    refused(re.escape(repr(name)), push_to_hub, classifier, name, token=hub.token)
    assert not hub.asked


def test_a_token_is_needed_before_the_model_is_saved(hub, classifier, monkeypatch, refused):
    monkeypatch.setattr(type(classifier), "save_to_preset", None)  # a TypeError if it comes first
    for token in (None, "hf_wrong"):
        refused(
            "refuses 'user/tiny'.*hf auth.*401", push_to_hub, classifier, "user/tiny", token=token
        )
    assert not hub.models


def test_the_refusals_of_the_hub_are_explained(
    hub, classifier, monkeypatch, point_to, tmp_path, no_waiting, refused
):
    def assert_refused(name, message):
        refused(message, push_to_hub, classifier, name, token=hub.token)

    hub.refusals["other/tiny"] = (403, {}, True)
    assert_refused("other/tiny", "refuses 'other/tiny'.*403")
    hub.refusals["other/tiny"] = (500, {}, True)
    assert_refused("other/tiny", "could not be uploaded.*same call again")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert_refused("user/tiny", "HF_HUB_OFFLINE")
    point_to("http://127.0.0.1:9", tmp_path / "cache")
    assert_refused("user/tiny", "could not be uploaded to http://127.0.0.1:9: .*again")
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", None)  # an answer that is no hub's
    assert_refused("user/tiny", "could not be uploaded .*NoneType")
