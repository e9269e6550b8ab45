import json

import numpy as np
import pytest

import keras_bert

SETTINGS = "--sequence_length 12 --epochs 2 --examples_per_class 2"
ROWS = [("text", "label"), ("bad", "0"), ("dull day", "0")]
ROWS += [(text, "1") for text in ("a good book", "very good", "good day", "good film")]


@pytest.mark.slow
def test_the_head_answers_as_the_files_say(
    rows_of, arguments, assert_close, module, write_table, tmp_path, capsys
):
    output, path = tmp_path / "out", write_table(tmp_path / "texts.tsv", *ROWS)
    module.main(arguments({"train": path, "dev": path}))
    assert "4 training examples; 6 are scored." in capsys.readouterr().out
    texts, labels = zip(*ROWS[1:], strict=True)
    head = np.load(output / "head.npz")
    vectors = keras_bert.BertTask.from_preset(output / "embedder").predict(
        [text for text, _ in ROWS[1:]], verbose=0
    )
    logits = vectors @ head["coefficients"][0] + head["intercepts"]
    rows = rows_of(output / "dev_answers.tsv")
    assert_close([float(row[head["classes"][1]]) for row in rows], 1 / (1 + np.exp(-logits)))
    right = [row["label"] == label for row, label in zip(rows, labels, strict=True)]
    assert json.loads((output / "scores.json").read_text()) == {"accuracy": np.mean(right)}
