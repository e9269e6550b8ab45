"""Minimal pairs of BLiMP and Zorro."""

import json

from paper.minimal_pairs import minimal_pair_accuracy, read_minimal_pairs

PAIRS = [("it rains .", "it rain ."), ("they rain .", "they rains .")]
GOOD, BAD = map(list, zip(*PAIRS, strict=True))


def test_a_folder_has_a_paradigm_in_each_file(tmp_path, refused):
    lines = [{"sentence_good": g, "sentence_bad": b, "lexical": True} for g, b in PAIRS]
    rows = [("sentence_good", "sentence_bad"), *PAIRS]
    for name, parts in {
        "b.jsonl": map(json.dumps, lines),
        "a.txt": (f"{bad}\n{good}" for good, bad in PAIRS),
        "c.tsv": map("\t".join, rows),
        "README.md": ["not pairs"],
    }.items():
        (tmp_path / name).write_text("\n".join(parts))
    assert read_minimal_pairs(tmp_path) == {name: (GOOD, BAD) for name in "abc"}
    assert read_minimal_pairs(tmp_path / "b.jsonl", limit=1) == {"b": (GOOD[:1], BAD[:1])}
    (tmp_path / "odd.txt").write_text("a\nb\nc\n")
    refused("odd.txt has 3 sentences", read_minimal_pairs, tmp_path)


def test_pairs_are_right_where_the_good_text_is_likelier(monkeypatch):
    likelihoods = {"a": -1.0, "b": -2.0, "A": -1.0}

    def scored(model, texts, batch_size):
        return [{"log_likelihood": likelihoods[text]} for text in texts]

    monkeypatch.setattr("_likelihoods.score_texts", scored)
    assert minimal_pair_accuracy(None, [*"aaba"], [*"bbab"], 4) == 0.75
    assert minimal_pair_accuracy(None, [*"aa"], [*"bA"], 4) == 0.75  # a tie is half right
