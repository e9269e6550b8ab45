"""Models of the Hugging Face hub: the files downloaded, and the errors of failed downloads."""

from pathlib import Path

import pytest
from huggingface_hub import HfApi, constants
from safetensors.numpy import load_file

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertTask,
    BertTokenClassifier,
    BertTokenizer,
)
from keras_bert.presets.hub import download
from tests.presets.formats.hub.conftest import TOKEN, commit_of


@pytest.fixture
def hub(hub, tiny):
    """The hub with one model."""
    hub.models["user/tiny"] = {"main": tiny}
    return hub


def weights(folder):
    return (Path(folder) / "model.safetensors").read_bytes()


def assert_refused(message, handle="hf://user/tiny"):
    with pytest.raises(ValueError, match=message) as caught:
        download(handle)
    text = str(caught.value)
    assert len(text) < 600 and "\n" not in text


def test_only_needed_files_are_downloaded_and_only_once(hub):
    tokenizer = BertTokenizer.from_preset("hf://user/tiny")
    small = {"config.json", "vocab.txt", "tokenizer_config.json"}
    assert small <= hub.fetched() <= small | {"onnx/config.json"}
    hub.asked.clear()
    folder = download("hf://user/tiny")
    assert hub.fetched() == {"model.safetensors"}
    hub.asked.clear()
    assert download("hf://user/tiny") == folder
    reader = BertClassifierPreprocessor.from_preset("hf://user/tiny")
    assert tokenizer.get_config() == reader.tokenizer.get_config()
    assert not hub.fetched()


def test_well_known_names_are_found_on_the_hub(hub, tmp_path, monkeypatch, refused):
    hub.models["google-bert/bert-base-uncased"] = hub.models["user/tiny"]
    for name in ("bert-base-uncased", "google-bert/bert-base-uncased"):
        assert BertTokenizer.from_preset(name).lowercase
    monkeypatch.chdir(tmp_path)  # a folder of that name comes first
    Path("bert-base-uncased").mkdir()
    refused("holds no BERT", BertClassifier.from_preset, "bert-base-uncased")


def test_a_revision_has_its_own_weights(hub, encoder, folder):
    main, second = hub.models["user/tiny"]["main"], folder(encoder, name="second")
    hub.models["user/tiny"]["v2"] = second
    for revision, expected in (
        ("", main),
        ("@v2", second),
        (f"@{commit_of(second)}", second),
    ):
        assert weights(download(f"hf://user/tiny{revision}")) == weights(expected)


def test_offline_the_cache_is_used(hub, monkeypatch, caplog):
    hub.models["user/tiny"]["v2"] = hub.models["user/tiny"]["main"]
    online = download("hf://user/tiny")
    hub.refusals["user/tiny"] = (500, None)
    assert download("hf://user/tiny") == online and "can't be reached" in caplog.text
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.asked.clear()
    assert download("hf://user/tiny") == online
    for handle in ("hf://user/tiny@v2", "hf://user/other"):
        assert_refused("not in the cache.*HF_HUB_OFFLINE", handle)
    assert not hub.asked


def test_every_format_is_downloaded(hub, classifier, google, write_shards, tmp_path, same):
    encoder, reader = classifier.backbone, classifier.preprocessor
    classifier.save_to_preset(tmp_path / "ours")
    embedder = BertEmbedder(encoder, preprocessor=reader, pooling="max")
    embedder.save_to_hugging_face(tmp_path / "sentences")
    tagger = BertTokenClassifier(encoder, num_classes=2, preprocessor=reader)
    tagger.save_to_hugging_face(tmp_path / "words")  # with the pooler in a file of its own
    google(name="tf1")
    shards = write_shards(load_file(tmp_path / "theirs/model.safetensors"), tmp_path / "theirs")
    (tmp_path / "theirs/model.safetensors").unlink()
    (tmp_path / "theirs/bert_config.json").write_text('{"vocab_size": 30}')  # by a converter
    for name in ("ours", "sentences", "words", "tf1", "theirs"):
        hub.models[f"user/{name}"] = {"main": tmp_path / name}
        loaded = BertTask.from_preset(f"hf://user/{name}")
        expected = BertTask.from_preset(tmp_path / name)
        assert type(loaded) is type(expected) and same(loaded, expected), name
        assert loaded.load_report.source == f"hf://user/{name}"  # not the cache
        assert loaded.preprocessor.get_config() == expected.preprocessor.get_config()
    assert {"bert_model.ckpt.index", *(shard.name for shard in shards)} <= hub.fetched()
    assert "pytorch_model.bin" not in hub.fetched()


def test_an_unknown_model_is_refused(hub):
    assert_refused("refuses 'user/nothing'.*Repository Not Found", "hf://user/nothing")
    assert_refused("refuses 'user/tiny'.*Revision Not Found", "hf://user/tiny@v9")
    hub.asked.clear()
    for name in (
        "user/tiny/config.json",
        "",
        "user/ti ny",
        "user/tiny@../../x",
        "user/..",
    ):
        assert_refused("must be hf://user/name", f"hf://{name}")
    assert not hub.asked


def test_a_refusal_of_the_hub_is_explained(hub, monkeypatch):
    for status, code, message in (
        (401, "RepoNotFound", "HF_TOKEN.*Repository Not Found"),  # or private
        (403, None, "HF_TOKEN.*403 Forbidden"),
        (500, None, "could not be downloaded.*500"),
    ):
        hub.refusals["user/tiny"] = (status, code)
        assert_refused(message)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert weights(download("hf://user/tiny")) == weights(hub.models["user/tiny"]["main"])


def test_a_model_without_weights_is_refused_before_the_download(hub):
    for name in ("model.safetensors", "pytorch_model.bin", "tf_model.h5"):
        (hub.models["user/tiny"]["main"] / name).unlink()
    assert_refused("no weights in a supported format.*onnx/model.onnx")
    assert not hub.fetched()


def test_an_unreachable_hub_is_reported_at_once(tmp_path, point_to, monkeypatch):
    point_to("http://127.0.0.1:9", tmp_path)
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    assert_refused("could not be downloaded from http://127.0.0.1:9.*refused")
    assert not waits


def test_a_hub_that_answers_otherwise_is_explained(hub, tmp_path, monkeypatch):
    hub.lost = {"model.safetensors"}
    assert_refused(r"refuses 'user/tiny'.*404.*/model.safetensors")
    folder = str(tmp_path / "model/snapshots/commit")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: folder)
    assert_refused("the hub lists no weights.*restart Python")
    timeouts = []
    monkeypatch.setattr(HfApi, "model_info", lambda *_, timeout, **__: timeouts.append(timeout))
    assert_refused("could not be downloaded from .*NoneType")
    assert timeouts == [constants.HF_HUB_ETAG_TIMEOUT]  # a hub that is silent is left


def test_a_name_without_its_scheme_is_refused_with_advice(refused, keras_hub):
    for name, advice in (
        ("user/name", "is written hf://user/name"),
        ("bert-base-uncasd", "mean 'hf://google-bert/bert-base-uncased'"),
        ("bert_base_uncased_en", "mean 'bert_base_en_uncased'"),
    ):
        refused(advice, BertBackbone.from_preset, name)
