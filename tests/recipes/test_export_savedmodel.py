import ast
import json
import re
import shlex

import numpy as np
import pytest

import keras_bert

TEXTS = ["the book's very good.", "dull", "it is so bad , but the film and the day was fine ."]


@pytest.fixture(scope="module")
def folder(preset, tmp_path_factory):
    """The preset of a classifier that tells texts apart."""
    model = keras_bert.BertClassifier.from_preset(preset, label_names=["contra", "neutral", "pro"])
    generator = np.random.default_rng(4)
    for weight in model.weights:
        weight.assign(np.asarray(weight) + generator.normal(0, 0.3, weight.shape))
    folder = tmp_path_factory.mktemp("finetuned") / "best"
    model.save_to_preset(folder)
    return folder


def command(out, program):
    lines = out.replace("\\\n", " ").splitlines()
    return shlex.split(next(line for line in lines if line.startswith(f"  {program} ")))


@pytest.mark.slow
def test_it_shows_the_answers_to_texts(module, folder, tmp_path, capfd):
    module.main([str(folder), "--output", str(tmp_path / "served"), "--text", *TEXTS])
    commands, printed = capfd.readouterr().out.split("Its answers:\n")
    assert json.loads(command(commands, "curl")[2]) == {"instances": TEXTS[:2]}
    answers = {name: ast.literal_eval(value) for name, value in re.findall(r"(\w+): (.*)", printed)}
    expected = keras_bert.BertClassifier.from_preset(folder).answer(TEXTS)
    assert [label.decode() for label in answers["label"]] == [one["label"] for one in expected]
    assert np.ptp(answers["probabilities"], axis=0).max() > 0.02  # texts differ


@pytest.mark.slow
def test_other_formats_hold_the_model_and_its_tokenizer(module, folder, tmp_path, capsys):
    main, arguments = module.main, [str(folder), "--output"]
    main([*arguments, str(tmp_path / "films"), "--format", "litert"])
    files = {"model.tflite", "tokenizer.json", "vocab.txt", "preprocessor.json"}
    assert {path.name for path in (tmp_path / "films").iterdir()} == files
    assert "films/model.tflite." in capsys.readouterr().out
