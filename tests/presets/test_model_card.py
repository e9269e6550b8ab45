"""Model cards: what they say is true, they load the model, and no foreign text breaks them."""

import json
import os
import random
import re

import numpy as np
import pytest
import yaml

import keras_bert
from keras_bert import BertBackbone, BertTask
from keras_bert.files.new_folder import CARD_MARK, is_own_card
from keras_bert.presets.model_card import Card, write_card

TASKS = {
    "BertBackbone": "feature-extraction",
    "BertPretrainer": "fill-mask",
    "BertClassifier": "text-classification",
    "BertTokenClassifier": "token-classification",
    "BertSpanLabeler": "question-answering",
    "BertMultipleChoice": "multiple-choice",
    "BertEmbedder": "sentence-similarity",
    "BertReranker": "text-ranking",
}
HOSTILE = [
    "a|b",
    "`code`",
    "---",
    "# head\n# line",
    "<script>alert(1)</script>",
    CARD_MARK,
    "[x](javascript:1)",
    "``",
    "key: value",
    "\ud800",
    "سلام\u200cها",
]


@pytest.fixture
def classifier(make_classifier):
    return make_classifier(label_names=["n", "y"])


def text_of(folder):
    return (folder / "README.md").read_text(encoding="utf-8")


def card_of(model, folder, *shown):
    model.save_to_preset(folder, *shown)
    return text_of(folder)


def metadata(folder):
    _, fields, _ = re.split(r"^---$", text_of(folder), maxsplit=2, flags=re.MULTILINE)
    return yaml.safe_load(fields)


def run_blocks(folder):
    """Runs the card's Python in order; returns the names of each block."""
    blocks = re.findall(r"```python\n(.*?)```", text_of(folder), flags=re.DOTALL)
    found = []
    for block in blocks:
        names = {}
        exec(block.replace('"path/to/this/folder"', repr(str(folder))), names)
        found.append(names)
    return found


@pytest.fixture
def models(make_backbone, letters):
    """A model of each class, with a preprocessor, that takes questions and contexts."""
    reader = keras_bert.BertPreprocessor(letters, sequence_length=96)
    made = [make_backbone(max_sequence_length=96)]
    for name in TASKS:
        if name != "BertBackbone":
            arguments = {"num_classes": 2} if "Classifier" in name else {}
            made.append(getattr(keras_bert, name)(made[0], preprocessor=reader, **arguments))
    return made


@pytest.mark.slow
def test_the_card_of_a_preset_loads_the_model(models, tmp_path, capsys, eagerly):
    for model in models:
        model.save_to_preset(tmp_path)
        fields = metadata(tmp_path)
        assert fields["library_name"] == "keras_bert" and "base_model" not in fields
        assert fields["pipeline_tag"] == TASKS[type(model).__name__]
        [names] = run_blocks(tmp_path)
        assert type(names["model"]) is type(model)
        assert type(model) is BertBackbone or capsys.readouterr().out


@pytest.mark.slow
def test_the_card_of_a_hugging_face_folder_loads_it_both_ways(models, tmp_path):
    for package in ("transformers", "torch", "sentence_transformers"):
        pytest.importorskip(package, reason='pip install ".[parity]"')
    for model in models:
        model.save_to_hugging_face(tmp_path)
        library = "transformers"
        if isinstance(model, (keras_bert.BertEmbedder, keras_bert.BertReranker)):
            library = "sentence-transformers"
        assert metadata(tmp_path)["library_name"] == library
        theirs, ours = (names["model"] for names in run_blocks(tmp_path))
        assert type(ours) is type(model)
        assert type(theirs).__module__.startswith(f"{library.replace('-', '_')}.")


def test_finetune_tells_the_card_its_settings_and_scores(classifier, tmp_path, eagerly):
    examples = (["a b", "c d"] * 4, ["n", "y"] * 4)
    settings = keras_bert.FineTuning(epochs=1, learning_rate=3e-5)
    keras_bert.finetune(classifier, examples, examples, tmp_path, settings, test=examples)
    [scores] = json.loads((tmp_path / "scores.json").read_text())
    text = text_of(tmp_path / "best")
    for fact in (
        "`training examples`: `8`",
        f"`accuracy`: {scores['accuracy']:.4g}",
        "On `test`:",
    ):
        assert fact in text


def test_the_card_names_the_source_that_training_started_from(classifier, tmp_path):
    classifier.backbone.published_source = source = "hf://user/name@v2"
    card_of(classifier, tmp_path / "first")
    assert metadata(tmp_path / "first")["base_model"] == "user/name"
    again = keras_bert.BertEmbedder.from_preset(tmp_path / "first")
    assert f"started from the weights of `{source}`." in card_of(again, tmp_path / "again")
    fresh = BertTask.from_preset(tmp_path / "first", load_weights=False)
    assert "## Training" not in card_of(fresh, tmp_path / "fresh")


def test_the_card_names_the_architecture_of_our_encoders_alone(make_backbone, tmp_path):
    tags = ["keras", "keras_bert"]
    own = type("OwnBackbone", (BertBackbone,), {})
    for encoder, named in ((make_backbone(), ["bert"]), (own(30, 1, 2, 16, 32), [])):
        write_card(encoder, tmp_path, Card(None, None))
        assert metadata(tmp_path)["tags"] == [*named, *tags]


def test_settings_may_be_anything_and_paths_of_this_machine_stay_private(backbone, tmp_path):
    settings = {  # {what is shown: a value}
        "best": "/home/me/bert/best",
        "wiki": "gs://secret/wiki",
        "train.tsv": r"C:\me\train.tsv",
        "dev.tsv": tmp_path / "dev.tsv",
        "a/b": "a/b",
        "0.1": np.float32(0.1),
        "32, 64": [32, 64],
        "n: 0.5": {"n": 0.5},
        "Exception": Exception(),
    }
    scores = {"dev": {"accuracy": np.float64(0.5), "f1": float("nan")}}
    text = card_of(backbone, tmp_path / "model", {**settings, "none": None}, scores)
    for shown in settings:
        assert f"- `{shown}`: `{shown}`\n" in text
    assert "- `accuracy`: 0.5\n" in text
    for hidden in ("none", "f1", "/home", "secret", "C:", str(tmp_path)):
        assert hidden not in text


def test_what_no_card_can_show_is_refused(refused):
    refused("settings must be a dict", Card, ["epochs"], None)
    refused("scores must be a dict of dicts.*'accuracy': 0.9", Card, None, {"accuracy": 0.9})


def test_foreign_text_breaks_neither_markdown_nor_yaml(backbone, tmp_path):
    markdown = pytest.importorskip("markdown_it", reason="pip install markdown-it-py")
    chance = random.Random(1)
    alphabet = "`|<>&\\*_[]()#-\n\r\t $~!ab\u2028\u202e\x00"
    drawn = ["".join(chance.choices(alphabet, k=chance.randrange(12))) for _ in range(300)]
    settings = {text: text for text in [*HOSTILE, *drawn]}
    write_card(backbone, tmp_path, Card(settings, {"`|\n#": {"<b>|": 1.0}}))
    text = text_of(tmp_path)
    assert is_own_card(text) and metadata(tmp_path)["library_name"] == "keras_bert"
    tokens = markdown.MarkdownIt("commonmark").enable("table").parse(text.split("---\n", 2)[2])
    kinds = [token.type for token in tokens]
    assert kinds.count("heading_open") == 5 and kinds.count("html_block") == 1
    inline = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in inline} <= {"text", "code_inline", "softbreak"}
    shown = {token.content for token in inline if token.type == "code_inline"}
    assert {"a|b", "'code'", "# head # line", HOSTILE[-1]} <= shown
    outside = "".join(token.content for token in inline if token.type == "text")
    assert set("`|<>&*[]#$~").isdisjoint(outside)


def test_a_card_by_hand_or_link_is_kept_and_one_of_ours_is_renewed(backbone, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a key")
    folder, save = tmp_path / "model", backbone.save_to_preset
    card = folder / "README.md"
    first = card_of(backbone, folder)
    by_hand = first.replace(CARD_MARK, "## Limits\n\nNone.")
    card.write_text(by_hand)
    save(folder)
    assert text_of(folder) == by_hand
    card.write_bytes(first.replace("\n", "\r\n").encode())  # by Git, not by hand
    assert "`epochs`" in card_of(backbone, folder, {"epochs": 3})
    card.unlink()
    card.symlink_to("../secret")
    save(folder)
    assert os.readlink(card) == "../secret" and secret.read_text() == "a key"
