"""KerasHub presets by their names and handles on Kaggle."""

import sys

import pytest

from keras_bert import BertBackbone
from keras_bert.presets.read_source import read_source

pytestmark = pytest.mark.usefixtures("keras_hub")


def test_a_presets_name_is_its_handle_on_kaggle(keras_hub, their_preset, monkeypatch):
    import kagglehub

    folder, asked = str(their_preset()[1]), []
    monkeypatch.setattr(kagglehub, "model_download", lambda h: asked.append(h) or folder)
    handle = keras_hub.models.BertBackbone.presets["bert_tiny_en_uncased"]["kaggle_handle"]
    assert handle.startswith("kaggle://keras/bert/keras/bert_tiny_en_uncased")
    for source in ("bert_tiny_en_uncased", handle):
        assert str(read_source(source)) == f"KerasHub preset {source}"
    assert asked == [handle.removeprefix("kaggle://")] * 2


def test_a_failed_download_from_kaggle_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens
    named = r"^bert_base_en \(kaggle://keras/bert/keras/bert_base_en/\d+\) could not be downloaded"
    message = rf"{named} from Kaggle: .*ProxyError.*\. Check the handle and"
    with pytest.raises(ValueError, match=message) as caught:
        BertBackbone.from_preset("bert_base_en")
    assert len(str(caught.value)) < 600


def test_without_kerashub_its_names_say_what_to_install(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    monkeypatch.setattr("keras_bert.presets.read_source.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "keras_bert.presets.formats.keras_hub", raising=False)
    with pytest.raises(ImportError, match=r"keras3-bert\[keras-hub\]"):
        BertBackbone.from_preset("bert_tiny_en_uncased")
    refused("'bert_tini' is neither a folder", BertBackbone.from_preset, "bert_tini")
