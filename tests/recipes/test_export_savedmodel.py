import json
import re
import shlex

import pytest

import keras_bert

TEXTS = ["the book's very good.", "dull", "it is so bad , but the film and the day was fine ."]


@pytest.mark.slow
def test_it_shows_the_answers_to_texts(module, preset, varied, tmp_path, capfd):
    names = ["contra", "neutral", "pro"]
    model = varied(keras_bert.BertClassifier.from_preset(preset, label_names=names))
    model.save_to_preset(tmp_path / "best")
    options = [str(tmp_path / "best"), "--output"]
    module.main([*options, str(tmp_path / "served"), "--text", *TEXTS])
    commands, printed = capfd.readouterr().out.split("Its answers:\n")
    [curl] = re.findall("  curl .*", commands)
    assert json.loads(shlex.split(curl)[2]) == {"instances": TEXTS[:2]}
    assert f"label: {[answer['label'].encode() for answer in model.answer(TEXTS)]}" in printed
    module.main([*options, str(tmp_path / "films"), "--format", "litert"])
    assert "films/model.tflite." in capfd.readouterr().out
