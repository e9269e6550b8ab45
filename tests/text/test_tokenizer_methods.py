"""Methods of tokenizers: vocabulary, ids, configs, shapes."""

import itertools
import json
import pickle

import numpy as np
import pytest

from keras_bert import FastTokenizer
from keras_bert.text.tokenizer import BertTokenizer
from tests import vocabularies


def test_shapes_in_are_shapes_out(small):
    pd = pytest.importorskip("pandas", reason='pip install ".[dev]"')
    assert small("ab c!") == small(b"ab c!") == [5, 6, 7, 8]
    assert small(["ab", ""]) == [[5, 6], []]
    assert small([]) == small("") == []
    texts = ("ab", "c")
    for given in (texts, np.array(texts), np.array(texts, "S"), pd.Series(texts)):
        assert small(given) == [[5, 6], [7]]
    assert small(np.array([texts], object)) == [[[5, 6], [7]]]
    assert small([["ab", "c"], ["a"], []]) == [[[5, 6], [7]], [[5]], []]
    expected = [[[5, 6]], []], [[[0, 1]], []], [[[1, 2]], []]
    assert small.tokenize_with_offsets([["ab"], []]) == expected


def test_flat_arrays_hold_the_tokens_of_all_texts(small):
    texts = ["ab c!", "", "\x0bA\x85b", "c\u00ad c"]
    ids, starts, ends, lengths = small.flat_ids_with_offsets(texts)
    for values, rows in zip((ids, starts, ends), small.tokenize_with_offsets(texts), strict=True):
        assert values.tolist() == sum(rows, [])
    assert [part.dtype for part in (ids, starts, ends, lengths)] == ["int32"] + ["int64"] * 3
    assert ids.tolist() == [5, 6, 7, 8, 5, 6, 7, 7] and lengths.tolist() == [4, 0, 2, 2]
    for flat, expected in zip(small.flat_ids(texts), (ids, lengths), strict=True):
        assert flat.dtype == expected.dtype and flat.tolist() == expected.tolist()
    assert [part.size for part in small.flat_ids_with_offsets([])] == [0] * 4
    assert [part.size for part in small.flat_ids([])] == [0] * 2


def test_a_text_of_a_megabyte_has_the_tokens_of_its_parts(small):
    part = "ab c\u00e7! [a]\u4e2d "
    ids, starts, ends, lengths = small.flat_ids_with_offsets([part * 70_000, part])
    once = lengths[1]
    assert lengths[0] == 70_000 * once
    begins = np.arange(70_000)[:, None] * len(part)
    for values, shift in ((ids, 0), (starts, begins), (ends, begins)):
        assert (values[:-once].reshape(-1, once) == values[-once:] + shift).all()


def test_detokenize_joins_pieces_and_leaves_padding_out(small):
    assert small.detokenize([5, 6, 7, 0]) == "ab c"
    assert small.detokenize([[5, 6, 0], [1, 5, 8]]) == ["ab", "[UNK] a !"]
    assert small.detokenize(np.array([[5, 7]])) == ["a c"]
    assert small.detokenize(small(["AB c!", ""])) == ["ab c !", ""]
    assert small.detokenize([[[5], [7]], [[]]]) == [["a", "c"], [""]]


def test_what_are_no_texts_and_no_ids_is_refused(small, refused):
    for text in (1, None, ["a", 1], [1.5], {"a": 1}):
        refused("Text . is .*, not a string", small, text)
    refused("Text 0 has half a character", small, "\ud800")
    refused("unit.*'words'", small.tokenize_with_offsets, "a", unit="words")
    for ids in ([99], [-1], ["a"], [0.5], 5, [2**40], np.array([2**32 + 5]), [2**70]):
        refused(r"\bids? ", small.detokenize, ids)


def test_special_ids_come_from_the_vocabulary(special_tokens):
    tokenizer = BertTokenizer(["x", *reversed(special_tokens)])
    names = ("mask", "sep", "cls", "unk", "pad")
    assert [getattr(tokenizer, f"{name}_token_id") for name in names] == [1, 2, 3, 4, 5]
    assert tokenizer("y x") == [4, 0]
    assert tokenizer.detokenize([0, 5]) == "x"


def test_config_pickle_and_file_make_the_same_tokenizer(special_tokens, tmp_path, refused):
    words = [*special_tokens, "Ab", "字", "", "##c"]
    for own in (
        BertTokenizer(words, lowercase=False, max_word_characters=50),
        FastTokenizer(vocabularies.byte_pairs()),
        FastTokenizer(vocabularies.unigrams(), mask_token="<num>"),
    ):
        kind, path = type(own), tmp_path / own.asset
        own.save_vocabulary(path)
        config = json.loads(json.dumps(own.get_config()))
        copies = [kind(path, **own.settings()), kind.from_config(config)]
        for copy in (*copies, pickle.loads(pickle.dumps(own))):
            assert copy.get_config() == config and copy.contents() == own.contents()
            assert copy("Abc字 ab") == own("Abc字 ab")
        tokens = own.get_vocabulary()
        assert own.vocabulary_size() == len(tokens) == 1 + own.token_to_id(tokens[-1])
        assert own.id_to_token(own.mask_token_id) == own.special[-1]
        for method, argument in (("token_to_id", "zzz"), ("id_to_token", len(tokens))):
            refused(str(argument), getattr(own, method), argument)


def test_a_vocabulary_of_the_other_casing_is_told(special_tokens):
    cased = [*special_tokens, *map("".join, itertools.product("ABCDE", "abcde"))]
    with pytest.warns(UserWarning, match="looks made for lowercase=False"):
        BertTokenizer(cased, lowercase=True)
    letters = "abcdefghijkl"
    uncased = [*special_tokens, *map("".join, itertools.product(letters, repeat=3))]
    with pytest.warns(UserWarning, match="looks made for lowercase=True"):
        BertTokenizer(uncased, lowercase=False)
