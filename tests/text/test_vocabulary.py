"""Vocabularies, good and bad, as files and as lists."""

import numpy as np
import pytest

from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import SPECIAL_TOKENS, read_vocabulary


@pytest.fixture
def good(special_tokens):
    return "\n".join([*special_tokens, "Häuser", "字"]).encode()


@pytest.mark.parametrize("missing", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
def test_a_missing_special_token_is_named(write, good, missing, refused):
    path = write(good.replace(missing.encode(), b"x"), "vocab.txt")
    refused(rf"vocab\.txt.* lacks \{missing[:-1]}\]", read_vocabulary, path)
    refused(
        "learn_vocabulary",
        BertTokenizer,
        [line for line in good.decode().split("\n") if line != missing],
    )


def test_an_empty_vocabulary_and_one_that_is_not_utf8_are_refused(write, good, refused):
    for data, message in (
        (b"", r"1 lines.*lacks \[PAD\]"),
        (good.replace("ä".encode(), b"\xe4"), r"line 6: not UTF-8 \(byte 0xe4\)"),
    ):
        refused(message, read_vocabulary, write(data))


def test_windows_line_ends_spaces_and_a_byte_order_mark_do_no_harm(write, good, special_tokens):
    tokens = [*special_tokens, "Häuser", "字"]
    assert read_vocabulary(write(good)) == read_vocabulary(write(good + b"\n")) == tokens
    for end in (b"\r\n", b" \t\n"):
        assert read_vocabulary(write(good.replace(b"\n", end) + end)) == tokens
    assert read_vocabulary(write(b"\xef\xbb\xbf" + good)) == tokens


def test_ids_are_line_numbers_even_of_blank_lines_and_strange_spaces(write, good):
    path = write(good + "\n\n\u2028\n##\u2028\nlast\n".encode())
    tokenizer = BertTokenizer(path)
    assert tokenizer.get_vocabulary()[7:] == ["", "", "##", "last"]
    assert tokenizer("last") == [10]


def test_of_repeated_tokens_the_last_counts_and_a_warning_names_them(write, good):
    path = write(good + "\n字\nx\nx".encode())
    with pytest.warns(UserWarning, match="2 repeated tokens, the first '字' at ids 6 and 7"):
        tokenizer = BertTokenizer(path)
    assert tokenizer("字 x") == [7, 9]
    assert tokenizer.vocabulary_size() == 10


NO_VOCABULARY = r"path of a vocab\.txt or a list"


@pytest.mark.parametrize(
    "vocabulary, message",
    [
        ([], r"0 lines.*lacks \[PAD\]"),
        ([*SPECIAL_TOKENS, 1], NO_VOCABULARY),
        ([*SPECIAL_TOKENS, b"x"], NO_VOCABULARY),
        (3, NO_VOCABULARY),
        (None, NO_VOCABULARY),
        (np.array(1), NO_VOCABULARY),
        (b"vocab.txt", NO_VOCABULARY),
        ({"a": 1}, NO_VOCABULARY),
        ([*SPECIAL_TOKENS, "a\nb"], "token 5 .* line end"),
        ("\ud800", "is not a path"),
        ("\0", "is not a path"),
    ],
)
def test_what_is_no_vocabulary_is_refused(vocabulary, message):
    with pytest.raises(ValueError, match=message) as error:
        BertTokenizer(vocabulary)
    assert not isinstance(error.value, UnicodeError)
