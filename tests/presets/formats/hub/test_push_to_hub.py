"""Uploads to the hub: one commit that loads again, and errors before any long work."""

import re

import pytest
import yaml

from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertTask
from keras_bert.files.new_folder import CARD_MARK
from keras_bert.presets.formats.hub import download
from keras_bert.presets.push_to_hub import push_to_hub
from keras_bert.presets.save_checkpoint import save_to_hugging_face


def on_hub(hub, name="user/tiny"):
    folder = hub.models[name]["main"]
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def card_of(hub, name="user/tiny"):
    return hub.models[name]["main"] / "README.md"


def test_a_model_is_uploaded_in_one_commit_and_loads(hub, classifier, same):
    handle = push_to_hub(
        classifier, "user/tiny", private=True, token=hub.token, commit_message="The first"
    )
    assert handle == f"hf://user/tiny@{hub.commit('user/tiny', 'main')}"
    assert hub.commits == [{"name": "user/tiny", "message": "The first", "deleted": []}]
    assert hub.private == {"user/tiny"}
    files = {"config.json", "model.weights.h5", "preprocessor.json", "vocab.txt", "README.md"}
    assert on_hub(hub) == {".gitattributes", *files}
    back = BertTask.from_preset(handle)
    assert type(back) is BertClassifier and same(back, classifier)


def test_the_card_names_the_model_on_the_hub(hub, classifier, tmp_path):
    save_to_hugging_face(classifier, tmp_path / "theirs")
    push_to_hub(tmp_path / "theirs", "hf://user/tiny", token=hub.token)
    text = card_of(hub).read_text()
    assert 'BertForSequenceClassification.from_pretrained("user/tiny")' in text
    assert 'keras_bert.BertClassifier.from_preset("hf://user/tiny")' in text
    assert "path/to" not in text and "path/to" in (tmp_path / "theirs" / "README.md").read_text()


def test_the_base_model_is_named(hub, classifier, tmp_path):
    handle = push_to_hub(classifier, "user/tiny", token=hub.token)
    BertBackbone.from_preset(handle).save_to_preset(tmp_path / "again")
    text = (tmp_path / "again" / "README.md").read_text()
    assert yaml.safe_load(text.split("---")[1])["base_model"] == "user/tiny"
    assert f"`{handle}`" in text
    assert str(tmp_path) not in text


def test_another_upload_replaces_the_files_of_the_model(hub, classifier, tmp_path, same, caplog):
    push_to_hub(classifier, "user/tiny", token=hub.token)
    folder = hub.models["user/tiny"]["main"]
    (folder / "results.csv").write_text("a,b")
    save_to_hugging_face(classifier, tmp_path / "theirs")
    (tmp_path / "theirs" / ".secret").write_text("mine")
    for name in ("curve.svg", "my_config.json", "1_Pooling/notes.txt", "assets/keys.json"):
        (tmp_path / "theirs" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "theirs" / name).write_text("mine")
    push_to_hub(tmp_path / "theirs", "user/tiny", token=hub.token)
    assert hub.commits[1]["deleted"] == ["model.weights.h5", "preprocessor.json"]
    kept = {".gitattributes", "results.csv", "README.md"}
    theirs = {"config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"}
    assert on_hub(hub) == kept | theirs
    [warning] = [line for line in caplog.messages if line.startswith("Not uploaded")]
    for name in ("curve.svg", "my_config.json", "1_Pooling/notes.txt", "assets/keys.json"):
        assert repr(name) in warning
    assert same(BertClassifier.from_preset("hf://user/tiny"), classifier)


def test_a_private_upload_never_goes_to_a_public_model(hub, classifier):
    push_to_hub(classifier, "user/tiny", token=hub.token)
    with pytest.raises(ValueError, match="already, and public.*leave out private=True"):
        push_to_hub(classifier, "user/tiny", token=hub.token, private=True)
    assert len(hub.commits) == 1
    push_to_hub(classifier, "user/secret", token=hub.token, private=True)
    push_to_hub(classifier, "user/secret", token=hub.token, private=True)
    assert len(hub.commits) == 3


def test_folders_within_the_folder_are_uploaded(hub, backbone, preprocessor, tmp_path, same):
    model = BertEmbedder(backbone(), pooling="max", preprocessor=preprocessor)
    save_to_hugging_face(model, tmp_path / "theirs")
    push_to_hub(tmp_path / "theirs", "user/tiny", token=hub.token)
    assert "1_Pooling/config.json" in on_hub(hub)
    back = BertTask.from_preset("hf://user/tiny")
    assert back.pooling == "max" and same(back, model)


def test_a_card_that_a_person_wrote_is_kept(hub, classifier, tmp_path):
    push_to_hub(classifier, "user/tiny", token=hub.token)
    edited = card_of(hub).read_text().replace(CARD_MARK, "## Limits\n\nNone.")
    card_of(hub).write_text(edited)
    push_to_hub(classifier, "user/tiny", token=hub.token)
    assert card_of(hub).read_text() == edited
    classifier.save_to_preset(tmp_path / "ours")
    (tmp_path / "ours" / "README.md").write_text("---\nlicense: mit\n---\nBy hand.")
    push_to_hub(tmp_path / "ours", "user/tiny", token=hub.token)
    assert card_of(hub).read_text().endswith("By hand.")


def test_a_link_out_of_the_folder_is_refused(hub, classifier, tmp_path):
    secret = tmp_path / "id_rsa"
    secret.write_text("private")
    for save, name in (
        (save_to_hugging_face, "vocab.txt"),
        (save_to_hugging_face, "model.safetensors"),
        (type(classifier).save_to_preset, "config.json"),
    ):
        folder = tmp_path / f"{save.__name__}_{name}"
        save(classifier, folder)
        (folder / "within.txt").symlink_to(secret)  # of no format
        (folder / name).unlink()
        (folder / name).symlink_to(secret)
        with pytest.raises(ValueError, match=f"{name} is a link to {secret}, outside"):
            push_to_hub(folder, "user/tiny", token=hub.token)
    assert not hub.created and not hub.commits


def test_a_link_within_the_folder_and_those_of_the_cache_are_followed(
    hub, tiny, classifier, tmp_path, same
):
    hub.models["user/theirs"] = {"main": tiny()}
    cached = download("hf://user/theirs")
    push_to_hub(cached, "user/again", token=hub.token)
    assert same(BertTask.from_preset("hf://user/again"), BertTask.from_preset(cached))
    classifier.save_to_preset(tmp_path / "ours")
    (tmp_path / "ours" / "vocab.txt").rename(tmp_path / "ours" / "words")
    (tmp_path / "ours" / "vocab.txt").symlink_to("words")
    push_to_hub(tmp_path / "ours", "user/tiny", token=hub.token)
    assert same(BertTask.from_preset("hf://user/tiny"), classifier)


def test_a_folder_that_looks_like_the_cache_hides_no_links(hub, classifier, tmp_path):
    secret = tmp_path / "id_rsa"
    secret.write_text("private")
    folder = tmp_path / "models--x--y" / "snapshots" / "1"
    classifier.save_to_preset(folder)
    (folder / "vocab.txt").unlink()
    for target in ("../../../id_rsa", "../../blobs/id_rsa"):
        blobs = tmp_path / "models--x--y" / "blobs"
        if not blobs.exists():
            blobs.symlink_to(tmp_path)
        (folder / "vocab.txt").unlink(missing_ok=True)
        (folder / "vocab.txt").symlink_to(target)
        with pytest.raises(ValueError, match=f"vocab.txt is a link to {secret}, outside"):
            push_to_hub(folder, "user/tiny", token=hub.token)


@pytest.mark.parametrize("name", ["tiny", "a/b/c", "user/ti ny", "user/..", "user/a--b", "", None])
def test_an_invalid_name_is_refused(hub, classifier, name):
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        push_to_hub(classifier, name, token=hub.token)
    assert not hub.asked


def test_a_folder_without_a_model_is_refused(hub, classifier, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="holds no model.*needs config.json.*thesis.txt"):
        push_to_hub(tmp_path, "user/tiny", token=hub.token)
    classifier.save_to_preset(tmp_path / "best")
    with pytest.raises(ValueError, match="Did you mean '.*best'"):
        push_to_hub(tmp_path, "user/tiny", token=hub.token)
    with pytest.raises(ValueError, match="missing holds no model"):
        push_to_hub(tmp_path / "missing", "user/tiny", token=hub.token)
    for source in ("gs://bucket/model", 3, None):
        with pytest.raises(ValueError, match="takes a model of keras_bert, or"):
            push_to_hub(source, "user/tiny", token=hub.token)
    assert not hub.asked


@pytest.fixture
def unsaved(classifier, monkeypatch):
    """A model that must not be saved, because an error comes first."""

    def save(folder):
        raise AssertionError("saved before the check")

    monkeypatch.setattr(type(classifier), "save_to_preset", save)
    return classifier


def test_a_token_is_needed_before_the_model_is_saved(hub, unsaved):
    for token in (None, "hf_wrong"):
        with pytest.raises(ValueError, match="Access to 'user/tiny' is denied .HTTP 401.*hf auth"):
            push_to_hub(unsaved, "user/tiny", token=token)
    hub.role = "read"
    with pytest.raises(ValueError, match="Access to 'user/tiny' is denied .HTTP 403"):
        push_to_hub(unsaved, "user/tiny", token=hub.token)
    assert not hub.created


def test_the_token_of_the_environment_is_used(hub, our_preset, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert push_to_hub(our_preset[1], "user/tiny").startswith("hf://user/tiny@")


def test_the_refusals_of_the_hub_are_explained(hub, our_preset, monkeypatch, no_waiting):
    hub.refusals["other/tiny"] = (403, {}, True)
    with pytest.raises(ValueError, match="Access to 'other/tiny' is denied .HTTP 403"):
        push_to_hub(our_preset[1], "other/tiny", token=hub.token)
    hub.refusals["other/tiny"] = (500, {}, True)
    with pytest.raises(ValueError, match="could not be uploaded.*same call again"):
        push_to_hub(our_preset[1], "other/tiny", token=hub.token)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match="HF_HUB_OFFLINE"):
        push_to_hub(our_preset[1], "user/tiny", token=hub.token)


def test_a_hub_that_cannot_be_reached_is_reported(hub, our_preset, point_to, tmp_path, no_waiting):
    point_to("http://127.0.0.1:9", tmp_path / "cache")
    with pytest.raises(ValueError, match="could not be uploaded to http://127.0.0.1:9: .*again"):
        push_to_hub(our_preset[1], "user/tiny", token=hub.token)
