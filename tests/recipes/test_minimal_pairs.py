"""Minimal pairs of BLiMP and Zorro."""

import json

import pytest

from keras_bert.recipes.paper.minimal_pairs import read_minimal_pairs

PAIRS = [("it rains .", "it rain ."), ("they rain .", "they rains .")]
GOOD, BAD = map(list, zip(*PAIRS, strict=True))


def test_a_folder_has_a_paradigm_in_each_file(tmp_path):
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
    assert [*read_minimal_pairs(tmp_path)] == [*"abc"]
    assert read_minimal_pairs(tmp_path / "b.jsonl", limit=1) == {"b": (GOOD[:1], BAD[:1])}


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("README.md", "", "has no minimal pairs"),
        ("odd.txt", "a\nb\nc\n", "odd.txt has 3 sentences"),
        ("other.jsonl", '{"sentence_good": "a"}\n', "sentence_bad"),
        ("other.jsonl", "[" * 5000, "other.jsonl, line 1"),
    ],
)
def test_what_has_no_pairs_is_refused_by_name(tmp_path, name, text, message, refused):
    (tmp_path / name).write_text(text)
    refused(message, read_minimal_pairs, tmp_path)
    refused("absent has no minimal pairs", read_minimal_pairs, tmp_path / "absent")
