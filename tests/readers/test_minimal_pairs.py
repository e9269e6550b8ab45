"""Minimal pairs of BLiMP and Zorro."""

import json

import pytest

from keras_bert.readers import read_minimal_pairs

PAIRS = [("it rains .", "it rain ."), ("they rain .", "they rains .")]
GOOD, BAD = map(list, zip(*PAIRS, strict=True))


def blimp(path):
    lines = [{"sentence_good": g, "sentence_bad": b, "UID": "x", "lexical": True} for g, b in PAIRS]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def zorro(path):
    path.write_text("".join(f"{bad}\n{good}\n" for good, bad in PAIRS))


def table(path):
    rows = [("sentence_good", "sentence_bad"), *PAIRS]
    path.write_text("".join(f"{good}\t{bad}\n" for good, bad in rows))


def test_a_folder_has_a_paradigm_in_each_file(tmp_path):
    blimp(tmp_path / "b.jsonl")
    zorro(tmp_path / "a.txt")
    table(tmp_path / "c.tsv")
    (tmp_path / "README.md").write_text("not pairs")
    expected = {name: (GOOD, BAD) for name in "abc"}
    assert read_minimal_pairs(tmp_path) == expected
    assert [*read_minimal_pairs(tmp_path)] == [*"abc"]
    assert read_minimal_pairs(tmp_path / "b.jsonl", limit=1) == {"b": (GOOD[:1], BAD[:1])}


def test_what_has_no_pairs_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="has no minimal pairs"):
        read_minimal_pairs(tmp_path)
    with pytest.raises(ValueError, match="absent has no minimal pairs"):
        read_minimal_pairs(tmp_path / "absent")
    (tmp_path / "odd.txt").write_text("a\nb\nc\n")
    with pytest.raises(ValueError, match="odd.txt has 3 sentences"):
        read_minimal_pairs(tmp_path)
    (tmp_path / "odd.txt").unlink()
    (tmp_path / "other.jsonl").write_text('{"sentence_good": "a"}\n')
    with pytest.raises(ValueError, match="sentence_bad"):
        read_minimal_pairs(tmp_path)
    (tmp_path / "other.jsonl").write_text("[" * 5000)
    with pytest.raises(ValueError, match="other.jsonl, line 1"):
        read_minimal_pairs(tmp_path)
