"""How probable texts are: against one token of one row at a time, in pairs, and as a script."""

import json
import math

import keras
import numpy as np
import pytest

import keras_bert
from _likelihoods import score_texts
from paper.minimal_pairs import minimal_pair_accuracy, read_minimal_pairs

SETTINGS = "--sequence_length 16 --batch_size 4"
TEXTS = ["a b c", "d", "e f g h i j k", "zz d", "o p q", "d"]
PAIRS = [("it was good .", "it was book ."), ("a film", "a so")]
GOOD, BAD = map(list, zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def model(make_backbone, letters, varied, eager):
    """A model whose table has two spare rows."""
    keras.utils.set_random_seed(1)
    reader = keras_bert.BertPreprocessor(letters, sequence_length=12)
    backbone = make_backbone(vocabulary_size=32)
    return eager(varied(keras_bert.BertPretrainer(backbone, False, reader)))


def one_by_one(model, text):
    """The log-likelihoods of the tokens of a text, a row and a position at a time."""
    [ids] = model.preprocessor([text])["token_ids"]
    ids = ids[ids != 0]
    found = []
    for position in range(1, len(ids) - 1):
        row = ids.copy()
        row[position] = 4  # [MASK]
        x = {"token_ids": row[None], "mask_positions": np.array([[position]])}
        [[logits]] = np.asarray(model.predict_on_batch(x)["masked_lm"], "float64")
        found.append(logits[ids[position]] - np.log(np.exp(logits).sum()))
    return found


def test_scores_are_those_of_one_token_at_a_time(assert_close, model, refused):
    scores = score_texts(model, TEXTS + [text.upper() for text in TEXTS], batch_size=3)
    assert scores[: len(TEXTS)] == scores[len(TEXTS) :]  # equal tokens: to the last bit
    for text, score in zip(TEXTS, scores, strict=False):
        likelihoods = one_by_one(model, text)
        assert score["tokens"] == text.replace("zz", "[UNK]").split()
        assert_close(score["token_log_likelihoods"], likelihoods)
        assert_close(score["log_likelihood"], sum(likelihoods))
        assert score["perplexity"] == pytest.approx(np.exp(-np.mean(likelihoods)), rel=1e-5)
    is_better = scores[0]["log_likelihood"] > scores[1]["log_likelihood"]
    share = minimal_pair_accuracy(model, [TEXTS[0], "d"], [TEXTS[1], "D"], 4)
    assert share == (0.75 if is_better else 0.25)  # a tie is half right
    refused("Text 2 has no token to score: ' '", score_texts, model, ["a", "b", " "])
    message = r"Text 1 has 11 tokens, .* sequence_length=12: 'b b"
    refused(message, score_texts, model, ["b " * 10, "b " * 11])


def test_a_folder_of_minimal_pairs_has_a_paradigm_in_each_file(write, tmp_path, refused):
    header = ("sentence_good", "sentence_bad")
    rows = [dict(zip(header, pair, strict=True)) for pair in PAIRS]
    write("\n".join(map(json.dumps, rows)), "b.jsonl")
    write("\n".join(map("\t".join, [header, *PAIRS])), "c.tsv")
    write("\n".join(f"{bad}\n{good}" for good, bad in PAIRS), "a.txt")
    write("not pairs", "README.md")
    assert read_minimal_pairs(tmp_path) == {name: (GOOD, BAD) for name in "abc"}
    assert read_minimal_pairs(tmp_path / "b.jsonl", limit=1) == {"b": (GOOD[:1], BAD[:1])}
    refused("odd.txt has 3 sentences", read_minimal_pairs, write("a\nb\nc\n", "odd.txt"))


@pytest.mark.slow
def test_it_writes_what_it_says(rows_of, arguments, module, preset, corpus, tmp_path):
    texts = [GOOD[0], BAD[0].replace(" ", "\u2028"), "bad"]
    (tmp_path / "texts.txt").write_text("\ufeff" + "\n\n".join(texts))
    (tmp_path / "pairs.txt").write_text("\n".join([BAD[0], GOOD[0], "bad", "bad"]))
    data = {"texts": tmp_path / "texts.txt", "minimal_pairs": tmp_path / "pairs.txt"}
    module.main([*map(str, arguments({**data, "heldout_corpus": corpus}))])
    rows = rows_of(tmp_path / "out/scores.tsv")
    expected = score_texts(keras_bert.BertPretrainer.from_preset(preset), texts)
    for row, text, score in zip(rows, texts, expected, strict=True):
        assert (row["text"], int(row["tokens"])) == (text, len(score["tokens"]))
        for name in ("log_likelihood", "perplexity"):
            assert float(row[name]) == pytest.approx(score[name], rel=1e-4)
    scores = json.loads((tmp_path / "out/scores.json").read_text())
    assert scores["minimal_pairs"] == scores["paradigms"]["pairs"] in (0.25, 0.75)  # one is a tie
    assert scores["perplexity"] == math.exp(scores["masked_lm_loss"])
