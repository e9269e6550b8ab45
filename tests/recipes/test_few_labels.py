import json

import numpy as np
import pytest

import keras_bert

SETTINGS = "--sequence_length 12 --epochs 2"

TEXTS = {"good": ["a good book", "very good", "good day", "good film"], "bad": ["bad", "dull day"]}


@pytest.fixture
def files(write_table, tmp_path):
    rows = [(text, label) for label, texts in TEXTS.items() for text in texts]
    path = write_table(tmp_path / "texts.tsv", ("text", "label"), *rows)
    return {"train": path, "dev": path}


@pytest.mark.slow
def test_the_head_answers_as_the_files_say(
    rows_of, arguments, assert_close, module, files, tmp_path, capsys
):
    output = tmp_path / "out"
    module.main(arguments(files, "--examples_per_class", "2"))
    assert "4 training examples; 6 are scored." in capsys.readouterr().out
    model = keras_bert.BertTask.from_preset(output / "embedder")
    head = np.load(output / "head.npz")
    vectors = model.predict(sum(TEXTS.values(), []), verbose=0)
    logits = vectors @ head["coefficients"][0] + head["intercepts"]
    rows = rows_of(output / "dev_answers.tsv")
    assert_close([float(row[head["classes"][1]]) for row in rows], 1 / (1 + np.exp(-logits)))
    answers = [row["label"] for row in rows]
    accuracy = np.mean(np.array(answers) == ["good"] * 4 + ["bad"] * 2)
    assert json.loads((output / "scores.json").read_text())["accuracy"] == accuracy


def test_classes_are_drawn_and_may_be_spelled_1_or_1_0(arguments, module, write_table, tmp_path):
    rows = [(f"a{number}", number % 2) for number in range(5)]
    train = write_table(tmp_path / "a.tsv", ("text", "label"), *rows)
    dev = write_table(tmp_path / "b.tsv", ("text", "label"), ("a", "1.0"))
    args = module.parse_args(arguments({"train": train, "dev": dev}))
    texts, labels, names = module.read_examples(train, args)
    _, classes, _ = module.read_examples(dev, args, names)
    assert classes.tolist() == ["1"]
    drawn = module.sample_per_class(texts, labels, 3, seed=0)
    assert sorted(drawn[1]) == ["0", "0", "0", "1", "1"]  # there are no more
    assert {*zip(*drawn, strict=True)} == {(text, str(label)) for text, label in rows}
