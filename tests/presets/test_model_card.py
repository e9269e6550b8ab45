"""Model cards: what they say is true, they load the model, and no foreign text breaks them."""

import json
import os
import re

import numpy as np
import pytest
import yaml

import keras_bert
from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor, BertTask
from keras_bert.files.new_folder import CARD_MARK, is_own_card
from keras_bert.presets.model_card import Card, code, write_card
from keras_bert.presets.preset import PresetModel

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
HOSTILE = ["a|b", "`code`", "---", "# head\n# line", "<script>alert(1)</script>", CARD_MARK]
HOSTILE += ["[x](javascript:1)", "$$x$$", "\u202eright to left", "\ud800", "``", "key: value"]
HOSTILE += ["سلام\u200cها"]


@pytest.fixture
def small(make_backbone):
    return make_backbone(max_sequence_length=128)


@pytest.fixture
def reader(letters):
    return keras_bert.BertPreprocessor(letters, sequence_length=96)


@pytest.fixture
def classifier(small, reader):
    return BertClassifier(small, 2, BertClassifierPreprocessor.like(reader, label_names=["n", "y"]))


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


@pytest.fixture(params=TASKS)
def model(request, small, reader):
    if request.param == "BertBackbone":
        return small
    arguments = {"num_classes": 2} if "Classifier" in request.param else {}
    return getattr(keras_bert, request.param)(small, preprocessor=reader, **arguments)


def test_the_card_of_a_preset_loads_the_model(model, tmp_path, capsys, eagerly):
    model.save_to_preset(tmp_path)
    fields = metadata(tmp_path)
    assert fields["library_name"] == "keras_bert"
    assert fields["pipeline_tag"] == TASKS[type(model).__name__]
    assert not fields.keys() & {"base_model", "language", "license"}  # which nobody knows
    [names] = run_blocks(tmp_path)
    assert type(names["model"]) is type(model)
    assert type(model) is BertBackbone or capsys.readouterr().out


@pytest.mark.slow
def test_the_card_of_a_hugging_face_folder_loads_it_both_ways(model, small, tmp_path):
    for package in ("transformers", "torch", "sentence_transformers"):
        pytest.importorskip(package, reason='pip install ".[parity]"')
    model.save_to_hugging_face(tmp_path)
    library = "transformers"
    if isinstance(model, (keras_bert.BertEmbedder, keras_bert.BertReranker)):
        library = "sentence-transformers"
    assert metadata(tmp_path)["library_name"] == library
    theirs, ours = (names["model"] for names in run_blocks(tmp_path))
    assert type(ours) is type(model)
    assert type(theirs).__module__.startswith(f"{library.replace('-', '_')}.")
    if library == "transformers":
        of_head = 0 if model is small else model.count_params() - small.count_params()
        assert theirs.num_parameters() >= of_head


def test_finetune_tells_the_card_its_settings_and_scores(classifier, tmp_path, eagerly):
    examples = (["a b", "c d"] * 4, ["n", "y"] * 4)
    settings = keras_bert.FineTuning(epochs=1, learning_rate=3e-5)
    keras_bert.finetune(classifier, examples, examples, tmp_path, settings, test=examples)
    [scores] = json.loads((tmp_path / "scores.json").read_text())
    text = text_of(tmp_path / "best")
    lines = [
        "- `num_classes`: `2`",
        "- `training examples`: `8`",
        "- `learning rate`: `3e-05`",
        "On `dev`:",
        "On `test`:",
    ]
    for line in (*lines, f"- `accuracy`: {scores['accuracy']:.4g}"):
        assert f"\n{line}\n" in text
    assert "layer decay" not in text


def test_the_card_names_the_source_that_training_started_from(classifier, tmp_path):
    classifier.backbone.published_source = "hf://user/name@v2"
    first = card_of(classifier, tmp_path / "first")
    assert "Training started from the weights of `hf://user/name@v2`." in first
    assert metadata(tmp_path / "first")["base_model"] == "user/name"
    for cls in (BertClassifier, keras_bert.BertEmbedder):
        again = cls.from_preset(tmp_path / "first")
        assert "`hf://user/name@v2`" in card_of(again, tmp_path / "again")
    fresh = BertTask.from_preset(tmp_path / "first", load_weights=False)
    assert "## Training" not in card_of(fresh, tmp_path / "fresh")


def test_settings_may_be_anything_and_paths_of_this_machine_stay_private(classifier, tmp_path):
    places = {"init": "/home/me/bert/best", "corpus": "gs://secret/wiki"}
    places |= {"data": r"C:\me\train.tsv", "file": tmp_path / "dev.tsv", "kept": "a/b"}
    settings = {"rate": np.float32(0.1), "n": np.int64(3), "weights": {"n": 0.5}, "none": None}
    settings |= {"lengths": [32, 64], "nan": float("nan"), "on": True, "loss": Exception()}
    scores = {"dev": {"a": np.float64(0.5), "b": float("nan")}}
    text = card_of(classifier, tmp_path / "model", settings | places, scores)
    shown = ["0.1", "3", "n: 0.5", "32, 64", "nan", "True", "Exception", "best", "wiki"]
    assert all(f": `{value}`\n" in text for value in [*shown, "train.tsv", "dev.tsv", "a/b"])
    assert "- `a`: 0.5\n" in text
    for hidden in ("none", "`b`", "/home", "secret", "C:", str(tmp_path)):
        assert hidden not in text


def test_what_no_card_can_show_is_refused(classifier, tmp_path, refused):
    for arguments, message in (
        ((["epochs"],), "settings must be a dict"),
        ((None, {"accuracy": 0.9}), "scores must be a dict of dicts.*'accuracy': 0.9"),
    ):
        refused(message, classifier.save_to_preset, tmp_path / "model", *arguments)
    assert not (tmp_path / "model").exists()


def test_foreign_text_breaks_neither_markdown_nor_yaml(small, reader, tmp_path):
    markdown = pytest.importorskip("markdown_it", reason="pip install markdown-it-py")
    reader = BertClassifierPreprocessor.like(reader, label_names=HOSTILE[:-4] + HOSTILE[-3:])
    model = BertClassifier(small, len(HOSTILE) - 1, reader)
    settings = dict(zip(HOSTILE, HOSTILE, strict=True))
    with pytest.MonkeyPatch.context() as patch:  # a surrogate is in no file of ours
        patch.setattr(reader, "label_names", HOSTILE)
        write_card(model, tmp_path, Card(settings, {"`|\n#": {"<b>|": 1.0}}))
    text = text_of(tmp_path)
    assert is_own_card(text) and metadata(tmp_path)["library_name"] == "keras_bert"
    tokens = markdown.MarkdownIt("commonmark").enable("table").parse(text.split("---\n", 2)[2])
    kinds = [token.type for token in tokens]
    assert kinds.count("heading_open") == 5 and kinds.count("html_block") == 1
    inline = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in inline} <= {"text", "code_inline", "softbreak"}
    shown = {token.content for token in inline if token.type == "code_inline"}
    assert {"a|b", "'code'", "---", "# head # line", "''", "<script>alert(1)</script>"} <= shown


def test_code_spans_are_inert_whatever_they_hold():
    markdown = pytest.importorskip("markdown_it", reason="pip install markdown-it-py")
    generator = np.random.default_rng(1)
    alphabet = list("`|<>&\\*_[]()#-\n\r\t $~!ab\u2028\u202e\x00")
    for _ in range(300):
        text = "".join(generator.choice(alphabet, generator.integers(0, 12)))
        [_, inline, _] = markdown.MarkdownIt("commonmark").parse(f"x {code(text)} y")
        assert [child.type for child in inline.children] == ["text", "code_inline", "text"], text


@pytest.mark.parametrize("save", [BertBackbone.save_to_preset, PresetModel.save_to_hugging_face])
def test_a_card_by_hand_or_link_is_kept_and_one_of_ours_is_renewed(save, small, tmp_path):
    folder, secret = tmp_path / "model", tmp_path / "secret"
    card = folder / "README.md"
    save(small, folder)
    first = text_of(folder)
    for by_hand in (first.replace(CARD_MARK, "## Limits\n\nNone."), ""):
        card.write_text(by_hand)
        save(small, folder)
        assert text_of(folder) == by_hand
    card.write_bytes(first.replace("\n", "\r\n").encode())  # by Git, not by hand
    save(small, folder, {"epochs": 3})
    assert "`epochs`" in text_of(folder)
    secret.write_text("a key")
    for target in ("../secret", "nowhere"):
        card.unlink()
        card.symlink_to(target)
        save(small, folder)
        assert os.readlink(card) == target and secret.read_text() == "a key"
