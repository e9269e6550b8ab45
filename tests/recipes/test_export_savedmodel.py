import ast
import json
import re
import shlex

import numpy as np
import pytest

import keras_bert

TEXTS = ["the book's very good.", "dull", "it is so bad , but the film and the day was fine ."]


@pytest.fixture(scope="module")
def classifier(preset, tmp_path_factory):
    """A model that tells texts apart, and its folder."""
    model = keras_bert.BertClassifier.from_preset(preset, label_names=["contra", "neutral", "pro"])
    generator = np.random.default_rng(4)
    for weight in model.weights:
        weight.assign(np.asarray(weight) + generator.normal(0, 0.3, weight.shape))
    folder = tmp_path_factory.mktemp("finetuned") / "best"
    model.save_to_preset(folder)
    return model, folder


def expected_of(model):
    logits = model.predict(TEXTS, verbose=0)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.ptp(probabilities, axis=0).max() > 0.02  # texts differ
    return probabilities, [model.preprocessor.label_names[i] for i in probabilities.argmax(axis=1)]


@pytest.mark.slow
def test_it_shows_the_answers_to_texts(assert_close, module, classifier, tmp_path, capfd):
    model, preset = classifier
    output = ["--output", str(tmp_path / "served")]
    module.main([str(preset), *output, "--text", *TEXTS])
    commands, printed = capfd.readouterr().out.split("Its answers:\n")
    assert json.loads(command(commands, "curl")[2]) == {"instances": TEXTS[:2]}
    answers = {name: ast.literal_eval(value) for name, value in re.findall(r"(\w+): (.*)", printed)}
    expected, names = expected_of(model)
    assert_close(np.array(answers["probabilities"]), expected)
    assert [label.decode() for label in answers["label"]] == names


@pytest.mark.slow
def test_an_encoder_of_the_recipes_is_known(run_python, recipe, module, classifier, tmp_path):
    model = keras_bert.BertClassifier.from_preset(classifier[1])
    recipe("_bilstm").with_bilstm(model, 4).save_to_preset(tmp_path / "best")
    command = [module.__file__, tmp_path / "best", "--output"]
    assert "Exported to" in run_python(*command, tmp_path / "served")


@pytest.mark.slow
def test_other_formats_hold_the_model_and_its_tokenizer(module, classifier, tmp_path, capsys):
    main, arguments = module.main, [str(classifier[1]), "--output"]
    main([*arguments, str(tmp_path / "films"), "--format", "litert"])
    files = {"model.tflite", "tokenizer.json", "vocab.txt", "preprocessor.json"}
    assert {path.name for path in (tmp_path / "films").iterdir()} == files
    assert "films/model.tflite." in capsys.readouterr().out


def command(out, program):
    lines = out.replace("\\\n", " ").splitlines()
    return shlex.split(next(line for line in lines if line.startswith(f"  {program} ")))


def test_the_commands_are_of_the_folder_and_versions_stand_side_by_side(
    module, classifier, tmp_path, monkeypatch, capsys, refused
):
    tmp_path = tmp_path / "of mine"
    tmp_path.mkdir()
    monkeypatch.chdir(tmp_path)
    main, arguments = module.main, [str(classifier[1]), "--output", "films"]
    main(arguments)
    out = capsys.readouterr().out
    folder = tmp_path.resolve() / "films"
    assert f"Exported to {folder / '1'}." in out
    docker, curl = command(out, "docker"), command(out, "curl")
    assert f"{folder}:/models/films" in docker and "MODEL_NAME=films" in docker
    assert json.loads(curl[curl.index("-d") + 1])["instances"]
    assert curl[-1].endswith("/v1/models/films:predict")
    refused("version=2", main, arguments)
    main([*arguments, "--version", "2"])
    assert {path.name for path in folder.iterdir()} == {"1", "2"}
    reranker = keras_bert.BertReranker.from_preset(classifier[1])
    monkeypatch.setattr(keras_bert.BertTask, "from_preset", lambda preset: reranker)
    monkeypatch.setattr(keras_bert.BertReranker, "export", lambda *args, **options: "films/2")
    refused("takes .'query', 'documents'", main, [*arguments, "--text", "a"])
    main(arguments)
    assert '[{"query": "A text.", "documents": "A text."}]' in capsys.readouterr().out
