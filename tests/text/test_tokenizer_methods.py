"""Methods of tokenizers: vocabulary, ids, configs, shapes."""

import itertools
import json
import pickle

import numpy as np
import pytest

from keras_bert.text.tokenizer import BertTokenizer


def test_shapes_in_are_shapes_out(small):
    pd = pytest.importorskip("pandas", reason='pip install ".[dev]"')
    assert small("ab c!") == small(b"ab c!") == [5, 6, 7, 8]
    assert small(["ab", ""]) == [[5, 6], []]
    assert small([]) == small("") == []
    assert small(np.array(["ab", "c"])) == small(np.array([b"ab", b"c"])) == [[5, 6], [7]]
    assert small(pd.Series(["ab", "c"])) == small(("ab", "c")) == [[5, 6], [7]]
    assert small(np.array([["ab", "c"]], dtype=object)) == [[[5, 6], [7]]]
    assert small([["ab", "c"], ["a"], []]) == [[[5, 6], [7]], [[5]], []]
    expected = [[[5, 6]], []], [[[0, 1]], []], [[[1, 2]], []]
    assert small.tokenize_with_offsets([["ab"], []]) == expected


def test_flat_arrays_hold_the_tokens_of_all_texts(small):
    texts = ["ab c!", "", "\x0bA\x85b", "c\u00ad c"]
    ids, starts, ends, lengths = small.flat_ids_with_offsets(texts)
    assert [part.dtype for part in (ids, starts, ends, lengths)] == ["int32"] + ["int64"] * 3
    assert ids.tolist() == [5, 6, 7, 8, 5, 6, 7, 7] and lengths.tolist() == [4, 0, 2, 2]
    assert starts.tolist() == [0, 1, 3, 4, 1, 3, 0, 3] and ends.tolist() == [1, 2, 4, 5, 2, 4, 1, 4]
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


def test_vocabulary_is_looked_up_both_ways(small, refused):
    assert small.vocabulary_size() == len(small.get_vocabulary()) == 12
    assert small.id_to_token(small.token_to_id("##b")) == "##b"
    for method, argument in (("token_to_id", "zzz"), ("id_to_token", 12)):
        refused(str(argument), getattr(small, method), argument)


def test_config_pickle_and_file_make_the_same_tokenizer(special_tokens, tmp_path):
    vocabulary = [*special_tokens, "Ab", "字", "", "##c"]
    first = BertTokenizer(vocabulary, lowercase=False, max_word_characters=50)
    config = json.loads(json.dumps(first.get_config()))
    first.save_vocabulary(tmp_path / "vocab.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]
    for other in (
        BertTokenizer.from_config(config),
        BertTokenizer(tmp_path / "vocab.txt", lowercase=False, max_word_characters=50),
        pickle.loads(pickle.dumps(first)),
    ):
        assert other.get_config() == first.get_config()
        assert other("Abc字 ab") == [5, 8, 6, 1]


def test_a_vocabulary_of_the_other_casing_is_told(special_tokens):
    cased = [*special_tokens, *map("".join, itertools.product("ABCDE", "abcde"))]
    with pytest.warns(UserWarning, match="looks made for lowercase=False"):
        BertTokenizer(cased, lowercase=True)
    letters = "abcdefghijkl"
    uncased = [*special_tokens, *map("".join, itertools.product(letters, repeat=3))]
    with pytest.warns(UserWarning, match="looks made for lowercase=True"):
        BertTokenizer(uncased, lowercase=False)
