"""Vocabularies, good and bad, as files and as lists."""

import numpy as np
import pytest

from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import SPECIAL_TOKENS, read_vocabulary


@pytest.fixture
def good():
    return "\n".join([*SPECIAL_TOKENS, "Häuser", "字"]).encode()


def test_a_missing_special_token_and_what_is_not_utf8_are_named(write, good, refused):
    for missing in SPECIAL_TOKENS:
        path = write(good.replace(missing.encode(), b"x"), "vocab.txt")
        message = rf"vocab\.txt.* lacks \{missing[:-1]}\].*learn_vocabulary"
        refused(message, BertTokenizer, path)
    latin = write(good.replace("ä".encode(), b"\xe4"))
    refused(r"line 6: not UTF-8 \(byte 0xe4\)", read_vocabulary, latin)


def test_windows_line_ends_spaces_and_a_byte_order_mark_do_no_harm(write, good):
    tokens = [*SPECIAL_TOKENS, "Häuser", "字"]
    for end in (b"\n", b"\r\n", b" \t\n"):
        text = good.replace(b"\n", end)
        for data in (text, text + end, b"\xef\xbb\xbf" + text):
            assert read_vocabulary(write(data)) == tokens


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


def test_what_is_no_vocabulary_is_refused(refused):
    no_vocabulary = r"path of a vocab\.txt or a list"
    for wrong in (None, np.array(1), b"vocab.txt", {"a": 1}, [*SPECIAL_TOKENS, b"x"]):
        refused(no_vocabulary, BertTokenizer, wrong)
    refused("token 5 .* line end", BertTokenizer, [*SPECIAL_TOKENS, "a\nb"])
    for path in ("\ud800", "\0"):
        refused("^the vocabulary .* is not a path", BertTokenizer, path)
