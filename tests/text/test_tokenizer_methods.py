"""Methods of tokenizers: vocabulary, ids, configs, shapes."""

import itertools

import keras
import numpy as np
import pytest

from keras_bert import FastTokenizer, testing
from keras_bert.text import wordpieces
from keras_bert.text.tokenizer import BertTokenizer
from tests import vocabularies


def test_shapes_in_are_shapes_out(small):
    assert small("ab c!") == small(b"ab c!") == [5, 6, 7, 8]
    texts = ("ab", "c")
    for given in (texts, np.array(texts), np.array(texts, "S")):
        assert small(given) == [[5, 6], [7]]
    assert small([["ab", "c"], ["a"], []]) == [[[5, 6], [7]], [[5]], []]
    expected = [[[5, 6]], []], [[[0, 1]], []], [[[1, 2]], []]
    assert small.tokenize_with_offsets([["ab"], []]) == expected


def test_flat_arrays_hold_the_tokens_of_all_texts(small):
    for texts in (["ab c!", "", "\x0bA\x85b", "c\u00ad c"], []):
        *parts, lengths = flat = small.flat_ids_with_offsets(texts)
        rows = small.tokenize_with_offsets(texts)
        for values, expected in zip(parts, rows, strict=True):
            assert values.tolist() == sum(expected, [])
        assert lengths.tolist() == [*map(len, rows[0])]
        assert [part.dtype for part in flat] == ["int32"] + ["int64"] * 3
        for values, expected in zip(small.flat_ids(texts), flat[::3], strict=True):
            assert values.dtype == expected.dtype and np.array_equal(values, expected)


def test_texts_that_are_read_one_by_one_have_the_same_tokens_and_places(small, monkeypatch):
    texts = ["ab c", "", "c!", "a b"]
    expected = small.tokenize_with_offsets(texts)
    monkeypatch.setattr(wordpieces, "_CHARACTERS_AT_ONCE", 0)
    assert small.tokenize_with_offsets(texts) == expected


def test_detokenize_joins_pieces_and_leaves_padding_out(small):
    assert small.detokenize([5, 6, 7, 0]) == "ab c"
    assert small.detokenize(np.array([[5, 6, 0], [1, 5, 8]])) == ["ab", "[UNK] a !"]
    assert small.detokenize([[[5], [7]], [[]]]) == [["a", "c"], [""]]
    assert small.detokenize(keras.ops.convert_to_tensor([[5, 6], [8, 0]])) == ["ab", "!"]


def test_what_are_no_texts_and_no_ids_is_refused(small, refused):
    for text in (1, None, ["a", 1], {"a": 1}):
        refused("Text . is .*, not a string", small, text)
    refused("Text 0 has half a character", small, "\ud800")
    refused("unit.*'words'", small.tokenize_with_offsets, "a", unit="words")
    for ids in ([99], [-1], ["a"], [0.5], 5, np.array([2**32 + 5]), [2**70]):
        refused(r"\bids? ", small.detokenize, ids)


def test_settings_are_kept_and_unknown_tokens_are_named(special_tokens, refused):
    for own in (
        BertTokenizer([*special_tokens, "Ab", "字", "", "##c"], False, max_word_characters=50),
        FastTokenizer(vocabularies.unigrams(), mask_token="<num>"),
    ):
        testing.run_tokenizer(own, ["Abc字 ab"])
        for method, argument in (
            ("token_to_id", "zzz"),
            ("id_to_token", own.vocabulary_size()),
        ):
            refused(str(argument), getattr(own, method), argument)


def test_a_vocabulary_of_the_other_casing_is_told(special_tokens):
    for lowercase, letters in ((True, ("ABCDE", "abcde")), (False, ["abcdefghijkl"] * 3)):
        words = map("".join, itertools.product(*letters))
        with pytest.warns(UserWarning, match=f"looks made for lowercase={not lowercase}"):
            BertTokenizer([*special_tokens, *words], lowercase)
