"""Tokens of a `tokenizer.json` are those of `tokenizers`."""

import subprocess
import sys

import pytest
import tokenizers

from keras_bert import FastTokenizer
from tests import vocabularies
from tests.vocabularies import BERT, LANGUAGES, ODD, ROBERTA, changed, odd_texts

TEXTS = [*LANGUAGES, *ODD, *odd_texts(2000)]
LETTERS = sorted({letter for text in LANGUAGES for letter in text if not letter.isspace()})
MAKE = {
    "roberta": vocabularies.byte_pairs,
    "xlm-roberta": vocabularies.unigrams,
    "modernbert": lambda: vocabularies.byte_pairs(BERT, nfc=True),
    "composed": lambda: vocabularies.composed_wordpieces(
        [*BERT, *LETTERS, *(f"##{letter}" for letter in LETTERS), "é", "##é"]
    ),
}


@pytest.fixture(scope="module")
def roberta():
    return vocabularies.byte_pairs()


@pytest.mark.parametrize("name", MAKE)
def test_ids_and_offsets_are_those_of_tokenizers(name):
    data = MAKE[name]()
    theirs = tokenizers.Tokenizer.from_buffer(data)
    own = FastTokenizer(data)
    assert own.vocabulary_size() == 1 + max(theirs.get_vocab().values())
    rows = theirs.encode_batch(TEXTS, add_special_tokens=False)
    ids, starts, ends = own.tokenize_with_offsets(TEXTS)
    assert ids == own(TEXTS) == [row.ids for row in rows]
    for text, row, *places in zip(TEXTS, rows, starts, ends, strict=True):
        for token, span, start, end in zip(row.tokens, row.offsets, *places, strict=True):
            piece = text[slice(*span)]
            if token.strip("▁ĠĊĉ"):  # else it is white space, or the mark of a word's beginning
                first = span[0] + len(piece) - len(piece.lstrip())
                assert (start, end) == (first, first + len(piece.strip()))
            assert start == end if not token.strip("▁Ġ") else text[start:end] == piece.strip()


def test_texts_come_back(roberta):
    own = FastTokenizer(roberta)
    texts = [*LANGUAGES, *ODD]
    assert own.detokenize(own(texts)) == texts
    unigrams = FastTokenizer(vocabularies.unigrams())
    assert unigrams.detokenize(unigrams(LANGUAGES)) == LANGUAGES
    assert own.detokenize([own.pad_token_id, *own("fox")]) == "fox"


def test_words_are_those_within_a_text(roberta):
    own = FastTokenizer(roberta)
    ids, lengths = own.ids_of_words(["fox", "dogs"])
    assert ids.tolist() == own(" fox dogs")
    assert lengths.tolist() == [*map(len, own([" fox", " dogs"]))]


def test_bytes_are_texts_and_have_offsets(roberta):
    own = FastTokenizer(roberta)
    text = "fﬁ é".encode() + b"\xff b"
    ids, starts, ends = own.tokenize_with_offsets(text, unit="bytes")
    assert (ids[0], ids[-1]) == (own("f")[0], own("x b")[-1])
    assert (starts[0], ends[-1]) == (0, len(text)) and text[starts[-1] : ends[-1]] == b"b"
    assert [part.dtype for part in own.flat_ids_with_offsets([])] == ["int32"] + ["int64"] * 3


def test_special_tokens_are_those_of_the_file():
    names = ["cls_token", "pad_token", "sep_token", "unk_token", "mask_token"]
    for make, special, separators in (("roberta", ROBERTA, 2), ("modernbert", BERT, 1)):
        own = FastTokenizer(MAKE[make]())
        assert tuple(getattr(own, name) for name in names) == special
        assert tuple(own.id_to_token(getattr(own, f"{name}_id")) for name in names) == special
        assert own.num_separators == separators


def test_other_files_and_arguments_are_refused(roberta, refused, tmp_path):
    for message, changes in (
        (
            "tokenizers [0-9.]+ can't read the vocabulary.*version '7.0'",
            {"version": "7.0"},
        ),
        (
            "can't read",
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
        ),
        (r"adds \[\] to a text and \[\] to a pair", {"post_processor": None}),
    ):
        refused(message, FastTokenizer, changed(roberta, **changes))
    no_mask = vocabularies.byte_pairs((*ROBERTA[:4], "<blank>"))
    refused(r"lacks <mask> and \[MASK\]: give mask_token=", FastTokenizer, no_mask)
    assert FastTokenizer(no_mask, mask_token="<blank>").mask_token == "<blank>"
    refused("lacks <x>: give unk_token=", FastTokenizer, roberta, unk_token="<x>")
    refused("must be a path", FastTokenizer, ["a", "b"])
    path = tmp_path / "tokenizer.json"
    path.write_bytes(roberta)
    refused("must hold its vocabulary", FastTokenizer.from_config, {"vocabulary": str(path)})


FORKED = """
import os, sys
from keras_bert.text.fast_tokenizer import FastTokenizer
assert "tokenizers" not in sys.modules
tokenizer = FastTokenizer(sys.argv[1])
expected = tokenizer(["a b c"] * 64)
child = os.fork()
if child == 0:
    os._exit(int(tokenizer(["a b c"] * 64) != expected))
assert os.waitpid(child, 0)[1] == 0
assert tokenizer(["a b c"] * 64) == expected
assert "TOKENIZERS_PARALLELISM" not in os.environ
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_forks_are_quiet(roberta, tmp_path, monkeypatch):
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    (tmp_path / "tokenizer.json").write_bytes(roberta)
    command = [sys.executable, "-c", FORKED, tmp_path / "tokenizer.json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
