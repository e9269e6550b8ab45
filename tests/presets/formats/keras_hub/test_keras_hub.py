"""KerasHub's presets are read, and give the outputs that they give in KerasHub."""

import json
import shutil

import keras
import pytest

from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertPretrainer, BertTask

keras_hub = pytest.importorskip("keras_hub", reason="pip install keras-hub")
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
    return lambda folder: shutil.copytree(folder, tmp_path / "copy")


@pytest.mark.parametrize(
    ("task", "settings", "expected"),
    [
        (
            None,
            {"dropout": 0.2, "num_segments": 3},
            {"dropout": 0.2, "attention_dropout": 0.2, "activation": "gelu_approximate"},
        ),
        (
            "BertMaskedLM",
            {},
            {"next_sentence": False, "masked_lm_activation": "gelu", "masked_lm_epsilon": 1e-5},
        ),
        ("BertTextClassifier", {"dropout": 0.3}, {"num_classes": 3, "dropout": 0.3}),
        ("BertTextEmbedder", {}, {"pooling": "mean", "normalize": True}),
        (
            "BertTextEmbedder",
            {"pooling_mode": "cls", "normalize": False},
            {"pooling": "cls", "normalize": False},
        ),
    ],
)
def test_every_model_is_read(their_preset, assert_same_outputs, task, settings, expected):
    theirs, folder = their_preset(task, **settings)
    ours = (BertTask if task else BertBackbone).from_preset(folder)
    assert type(ours) is TASKS.get(task, BertBackbone)
    assert expected.items() <= ours.get_config().items()
    assert_same_outputs(ours, theirs)
    assert not ours.load_report.new and not ours.load_report.left_over


def test_a_tokenizer_saved_with_a_backbone_is_read(their_preset, copy, words):
    folder = copy(their_preset()[1])
    tokenizer = keras_hub.models.BertTokenizer(vocabulary=words, lowercase=True)
    tokenizer.save_to_preset(str(folder))
    ours = BertPretrainer.from_preset(folder)
    assert ours.preprocessor.tokenizer.get_vocabulary() == words
    assert ours.preprocessor.tokenizer.lowercase and ours.preprocessor.sequence_length == 16
    assert {name.split("/")[0] for name in ours.load_report.new} == {"masked_lm", "next_sentence"}


def test_a_preset_of_another_architecture_is_refused(tmp_path):
    theirs = keras_hub.models.RobertaBackbone(30, 1, 2, 8, 12, max_sequence_length=16)
    theirs.save_to_preset(str(tmp_path / "backbone"))
    task = keras_hub.models.RobertaTextClassifier(theirs, num_classes=2)
    task.save_to_preset(str(tmp_path / "task"))
    for name in ("backbone", "task"):
        with pytest.raises(ValueError, match="can't be loaded as a BERT: .*type `RobertaBackbone`"):
            BertTask.from_preset(tmp_path / name)


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("config.json", None, r"holds no BERT in a supported format: .*'model.weights.h5'"),
        ("config.json", "truncated", "config.json is not JSON"),
        (
            "model.weights.h5",
            None,
            "can't be loaded as a BERT: .*model.weights.json. doesn't exist",
        ),
        ("model.weights.h5", "truncated", r"model.weights.h5 is damaged.*truncated file"),
        ("task.json", "truncated", "task.json is not JSON"),
        ("task.weights.h5", "truncated", "task.weights.h5 is damaged.*truncated file"),
    ],
)
def test_a_broken_folder_is_refused(their_preset, copy, file, damage, message):
    folder = copy(their_preset("BertTextClassifier")[1])
    content = (folder / file).read_bytes()
    (folder / file).unlink()
    if damage is not None:
        (folder / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=message):
        BertTask.from_preset(folder)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("max_sequence_length", 20, "can't be loaded as a BERT: .*position_embedding"),
        ("num_layers", 3, "can't be loaded as a BERT: .*objects could not be loaded"),
        ("num_layers", 1, "a BERT with 1536 weights .* describes 1004: they belong to diff"),
    ],
)
def test_weights_of_another_size_are_refused(their_preset, copy, setting, value, message):
    folder = copy(their_preset()[1])
    config = json.loads((folder / "config.json").read_text())
    config["config"][setting] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(folder)


def test_a_head_without_weights_is_new_with_a_warning(their_preset, copy, caplog):
    folder = copy(their_preset("BertTextClassifier")[1])
    (folder / "task.weights.h5").unlink()
    model = BertTask.from_preset(folder)
    assert type(model) is BertClassifier
    assert model.load_report.new == {"logits/kernel": (8, 3), "logits/bias": (3,)}
    assert "lacks logits/kernel, logits/bias:" in caplog.text


def test_probabilities_become_logits_with_a_warning(assert_close, their_preset, outputs_of, caplog):
    theirs, folder = their_preset("BertTextClassifier", activation="softmax")
    ours = BertTask.from_preset(folder)
    assert "ends with softmax, which isn't loaded" in caplog.text
    probabilities = keras.ops.softmax(outputs_of(ours)["outputs"])
    assert_close(probabilities, outputs_of(theirs)["outputs"])


@pytest.mark.parametrize("setting", ["num_layers", "vocabulary_size", "num_classes"])
def test_a_huge_task_is_refused_before_it_is_made(their_preset, copy, setting):
    folder = copy(their_preset("BertTextClassifier")[1])
    task = json.loads((folder / "task.json").read_text())
    config = task["config"] if setting == "num_classes" else task["config"]["backbone"]["config"]
    config[setting] = 10**6
    (folder / "task.json").write_text(json.dumps(task))
    with pytest.raises(ValueError, match="task.json.*(at least|num_classes must be)"):
        BertTask.from_preset(folder)
