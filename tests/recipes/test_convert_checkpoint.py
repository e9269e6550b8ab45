"""recipes/convert_checkpoint.py, as a person runs it."""

import re

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier, BertPretrainer


@pytest.fixture
def convert(module):
    return lambda *arguments: module.main([str(a) for a in arguments])


@pytest.fixture(scope="module")
def saved(preset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("presets") / "ours"
    BertClassifier.from_preset(preset, label_names=["no", "yes"]).save_to_preset(folder)
    return folder


@pytest.mark.parametrize("to", ["hugging_face", "keras_bert"])
def test_a_classifier_survives_a_round_trip(convert, saved, tmp_path, to, capsys):
    convert(saved, tmp_path / "theirs", "--to", to)
    convert(tmp_path / "theirs", tmp_path / "back")
    printed = capsys.readouterr().out
    assert "block_0/attention/query_key_value/kernel  16x48" in printed
    assert f"Wrote a BertClassifier to {tmp_path / 'back'}, in the format of keras_bert." in printed
    assert len(re.findall(r" weights matched, 0 \D+, 0 left over", printed)) == 2
    before, after = map(BertClassifier.from_preset, (saved, tmp_path / "back"))
    assert after.preprocessor.label_names == ["no", "yes"]
    for ours, theirs in zip(before.weights, after.weights, strict=True):
        assert np.array_equal(*map(keras.ops.convert_to_numpy, (ours, theirs))), ours.path


def test_another_task_gets_a_new_head_listed_in_the_table(convert, saved, tmp_path, capsys):
    convert(saved, tmp_path / "lm", "--load_as", "pretrainer")
    assert "next_sentence/kernel" in capsys.readouterr().out
    assert BertPretrainer.from_preset(tmp_path / "lm").load_report.new == {}


def test_casing_can_be_set_and_an_unknown_source_is_refused(convert, saved, tmp_path, refused):
    convert(saved, tmp_path / "hf", "--to", "hugging_face", "--cased")
    assert BertClassifier.from_preset(tmp_path / "hf").preprocessor.tokenizer.lowercase is False
    refused("neither a folder nor the name", convert, tmp_path / "nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()
