"""The recipe that scores texts."""

import json
import math

import numpy as np
import pytest

import keras_bert
from _likelihoods import score_texts

SETTINGS = "--sequence_length 16 --batch_size 4"
TEXTS = ["the book was good", "a dull film , not a book", "bad"]


def test_texts_are_scored_as_by_the_model(rows_of, arguments, module, preset, tmp_path, capsys):
    texts = [TEXTS[0], TEXTS[1].replace(" ", "\u2028"), TEXTS[2]]
    (tmp_path / "texts.txt").write_text("\ufeff" + "\n".join([texts[0], "", *texts[1:]]))
    module.main(arguments({}, "--texts", str(tmp_path / "texts.txt")))
    rows = rows_of(tmp_path / "out/scores.tsv")
    expected = score_texts(keras_bert.BertPretrainer.from_preset(preset), texts)
    assert [row["text"] for row in rows] == texts
    for row, score in zip(rows, expected, strict=True):
        assert int(row["tokens"]) == len(score["tokens"])
        for name in ("log_likelihood", "perplexity"):
            assert np.isclose(float(row[name]), score[name], rtol=1e-4)
    assert "3 texts" in capsys.readouterr().out


@pytest.mark.slow
def test_pairs_and_held_out_text_give_their_scores(
    arguments, module, corpus, other_corpus, refused, tmp_path, capsys
):
    (tmp_path / "pairs").mkdir()
    for name, (bad, good) in {"x": TEXTS[:2], "y": TEXTS[1:]}.items():
        (tmp_path / f"pairs/{name}.txt").write_text(f"{bad}\n{good}\n{good}\n{good}\n")
    pairs = ["--minimal_pairs", str(tmp_path / "pairs")]
    module.main(arguments({}, *pairs, "--heldout_corpus", str(corpus)))
    scores = json.loads((tmp_path / "out/scores.json").read_text())
    assert {*scores["paradigms"]} == {"x", "y"}
    assert {*scores["paradigms"].values()} <= {0.25, 0.75}  # equal texts are half right
    assert scores["minimal_pairs"] == np.mean([*scores["paradigms"].values()])
    assert scores["perplexity"] == math.exp(scores["masked_lm_loss"])
    assert "next_sentence_accuracy" in capsys.readouterr().out
    other = arguments({}, "--heldout_corpus", str(other_corpus))
    refused("a different vocabulary", module.main, other)
