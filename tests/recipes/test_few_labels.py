import json

import numpy as np
import pytest

import keras_bert

SETTINGS = "--sequence_length 12 --epochs 2"
ROWS = [(text, "1") for text in ("a good book", "very good", "good day", "good film")]
ROWS += [("bad", "0"), ("dull day", "0")]


@pytest.fixture
def files(write_table, tmp_path):
    path = write_table(tmp_path / "texts.tsv", ("text", "label"), *ROWS)
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
    vectors = model.predict([text for text, _ in ROWS], verbose=0)
    logits = vectors @ head["coefficients"][0] + head["intercepts"]
    rows = rows_of(output / "dev_answers.tsv")
    assert_close([float(row[head["classes"][1]]) for row in rows], 1 / (1 + np.exp(-logits)))
    right = [row["label"] == label for row, (_, label) in zip(rows, ROWS, strict=True)]
    assert json.loads((output / "scores.json").read_text())["accuracy"] == np.mean(right)


def test_classes_are_drawn_and_may_be_spelled_1_or_1_0(
    arguments, module, files, write_table, tmp_path
):
    args = module.parse_args(arguments(files))
    texts, labels, names = module.read_examples(files["train"], args)
    dev = write_table(tmp_path / "dev.tsv", ("text", "label"), ("a", "1.0"))
    assert module.read_examples(dev, args, names)[1].tolist() == ["1"]
    drawn = module.sample_per_class(texts, labels, 3, seed=0)
    assert sorted(drawn[1]) == ["0", "0", "1", "1", "1"]  # there are no more
    assert {*zip(*drawn, strict=True)} < {*ROWS}
