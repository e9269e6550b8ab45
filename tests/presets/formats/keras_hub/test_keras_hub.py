"""KerasHub's presets, of folders and of Kaggle, give the outputs that they give in KerasHub."""

import shutil
import sys

import keras
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPreprocessor,
    BertPretrainer,
    BertTask,
    BertTokenizer,
)
from keras_bert.presets import hub
from keras_bert.presets.read_source import read_source

keras_hub = pytest.importorskip(
    "keras_hub",
    reason="keras-hub is not installed, or not made for this Keras",
    exc_type=ImportError,
)
# Keras warns about KerasHub's lists of layers if a preset doesn't match its config.
pytestmark = pytest.mark.filterwarnings("ignore:Skipping nested container")

TASKS = {
    "BertMaskedLM": BertPretrainer,
    "BertTextClassifier": BertClassifier,
    "BertTextEmbedder": BertEmbedder,
}


@pytest.fixture
def copy(tmp_path):
    """Copies a preset, so that a test can change it."""
    return lambda folder, name="copy": shutil.copytree(folder, tmp_path / name)


ENCODER = {"attention_dropout": 0.2, "activation": "gelu_approximate"}
HEAD = {"next_sentence": False, "masked_lm_activation": "gelu", "masked_lm_epsilon": 1e-5}


def test_every_model_is_read(their_preset, outputs_of, assert_close):
    for task, settings, ours in (
        (None, {"dropout": 0.2, "num_segments": 3}, ENCODER),
        ("BertMaskedLM", {}, HEAD),
        ("BertTextClassifier", {"dropout": 0.3}, {"num_classes": 3, "dropout": 0.3}),
        ("BertTextEmbedder", {"normalize": False}, {"pooling": "mean"}),
        (
            "BertTextEmbedder",
            {"pooling_mode": "cls"},
            {"pooling": "cls", "normalize": True},
        ),
    ):
        theirs, folder = their_preset(task, **settings)
        model = (BertTask if task else BertBackbone).from_preset(folder)
        assert type(model) is TASKS.get(task, BertBackbone)
        expected = {n: v for n, v in settings.items() if n != "pooling_mode"} | ours
        assert expected.items() <= model.get_config().items()
        found = outputs_of(model)
        for name, output in outputs_of(theirs).items():
            assert keras.ops.std(output) > 0.1, "outputs differ between inputs"
            assert_close(found[name], output, name=f"{task} {name}")
        assert not model.load_report.new and not model.load_report.left_over


def test_a_tokenizer_saved_with_a_backbone_is_read(
    their_preset, copy, words, monkeypatch, tmp_path
):
    folder = copy(their_preset()[1])
    keras_hub.models.BertTokenizer(vocabulary=words, lowercase=True).save_to_preset(str(folder))
    ours = BertPretrainer.from_preset(folder)
    assert ours.preprocessor.tokenizer.get_vocabulary() == words
    assert ours.preprocessor.tokenizer.lowercase and ours.preprocessor.sequence_length == 16
    assert {name.split("/")[0] for name in ours.load_report.new} == {
        "masked_lm",
        "next_sentence",
    }
    (folder / "preprocessor.json").write_text('{"config": {"sequence_length": 12}}')
    assert BertPreprocessor.from_preset(folder).sequence_length == 12
    without_weights = shutil.ignore_patterns("*.h5")
    small = shutil.copytree(folder, tmp_path / "small", ignore=without_weights)
    monkeypatch.setattr(hub, "download", lambda name, weights=True: folder if weights else small)
    assert BertTokenizer.from_preset("hf://keras/bert").get_vocabulary() == words


def test_a_preset_of_another_architecture_is_refused(tmp_path, refused):
    theirs = keras_hub.models.RobertaBackbone(30, 1, 2, 8, 12, max_sequence_length=16)
    theirs.save_to_preset(str(tmp_path / "backbone"))
    task = keras_hub.models.RobertaTextClassifier(theirs, num_classes=2)
    task.save_to_preset(str(tmp_path / "task"))
    message = "can't be loaded as a BERT: .*type `RobertaBackbone`"
    for name in ("backbone", "task"):
        refused(message, BertTask.from_preset, tmp_path / name)


def test_a_damaged_folder_is_refused(their_preset, copy, refused):
    for name, old, new, message in (
        ("max_sequence_length", 16, 20, "can't be loaded as .*position_embedding"),
        ("num_layers", 2, 1, "a BERT with 1536 weights .* describes 1004: they"),
    ):
        path = copy(their_preset()[1], name) / "config.json"
        path.write_text(path.read_text().replace(f'"{name}": {old}', f'"{name}": {new}'))
        refused(message, BertTask.from_preset, path.parent)
    path = copy(their_preset("BertTextClassifier")[1]) / "task.weights.h5"
    path.write_bytes(path.read_bytes()[:1000])
    refused("task.weights.h5 is damaged.*truncated file", BertTask.from_preset, path.parent)


def test_probabilities_and_a_head_without_weights_are_told(
    assert_close, their_preset, outputs_of, copy, caplog
):
    theirs, folder = their_preset("BertTextClassifier", activation="softmax")
    ours = BertTask.from_preset(folder)
    assert "ends with softmax, which isn't loaded" in caplog.text
    logits, expected = (outputs_of(model)["outputs"] for model in (ours, theirs))
    assert_close(keras.ops.softmax(logits), expected)
    folder = copy(folder)
    (folder / "task.weights.h5").unlink()
    assert BertTask.from_preset(folder).load_report.new.keys() == {
        "logits/kernel",
        "logits/bias",
    }
    assert "has no weights for logits/kernel, logits/bias," in caplog.text


def test_a_presets_name_is_its_handle_on_kaggle(their_preset, monkeypatch):
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
