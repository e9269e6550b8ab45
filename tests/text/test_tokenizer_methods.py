"""Methods of tokenizers: vocabulary, ids, configs, shapes."""

import copy
import json
import pickle

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer


def test_a_tokenizer_shows_its_size_and_case(small):
    assert repr(small) == "BertTokenizer(12 tokens, lowercase=True)"


def test_shapes_in_are_shapes_out(small):
    assert small("ab c!").numpy().tolist() == [5, 6, 7, 8]
    assert small(b"ab").dtype == tf.int32
    assert small(["ab", ""]).to_list() == [[5, 6], []]
    assert small([]).to_list() == []
    assert small("").shape == (0,)
    assert small(np.array(["ab", "c"])).to_list() == [[5, 6], [7]]
    assert small(np.array([["ab", "c"]], dtype=object)).to_list() == [[[5, 6], [7]]]
    assert small([["ab", "c"], ["a"]]).to_list() == [[[5, 6], [7]], [[5]]]
    deep = tf.ragged.constant([[["ab"], []], []], ragged_rank=2, row_splits_dtype=tf.int32)
    assert small(deep).to_list() == [[[[5, 6]], []], []]
    starts = small.tokenize_with_offsets(tf.ragged.constant([["ab"], []]))[1]
    assert starts.to_list() == [[[0, 1]], []]


@pytest.mark.parametrize("text", [1, None, ["a", 1], [1.5], {"a": 1}, "\ud800"])
def test_what_is_no_text_is_refused(small, text):
    with pytest.raises(ValueError, match="expected"):
        small(text)


def test_detokenize_joins_pieces_and_leaves_padding_out(small):
    assert small.detokenize([5, 6, 7, 0]).numpy() == b"ab c"
    assert small.detokenize([[5, 6, 0], [1, 5, 8]]).numpy().tolist() == [b"ab", b"[UNK] a !"]
    assert small.detokenize(np.array([[5, 7]])).numpy().tolist() == [b"a c"]
    assert small.detokenize(small(["AB c!", ""])).numpy().tolist() == [b"ab c !", b""]
    assert small.detokenize(tf.ragged.constant([[[5], [7]], []])).to_list() == [[b"a", b"c"], []]


@pytest.mark.parametrize(
    "ids", [[99], [-1], ["a"], [0.5], 5, [2**40], np.array([2**32 + 5]), [2**70]]
)
def test_what_are_no_ids_is_refused(small, ids):
    with pytest.raises(ValueError, match="ids"):
        small.detokenize(ids)


def test_special_ids_come_from_the_vocabulary(special_tokens):
    tokenizer = BertTokenizer(["x", *reversed(special_tokens)])
    assert tokenizer.mask_token_id == 1
    assert tokenizer.sep_token_id == 2
    assert tokenizer.cls_token_id == 3
    assert tokenizer.unk_token_id == 4
    assert tokenizer.pad_token_id == 5
    assert tokenizer("y x").numpy().tolist() == [4, 0]
    assert tokenizer.detokenize([0, 5]).numpy() == b"x"


def test_vocabulary_is_looked_up_both_ways(small):
    assert small.vocabulary_size() == len(small.get_vocabulary()) == 12
    assert small.id_to_token(small.token_to_id("##b")) == "##b"
    with pytest.raises(ValueError, match="'zzz'"):
        small.token_to_id("zzz")
    with pytest.raises(ValueError, match="12"):
        small.id_to_token(12)


def test_config_pickle_and_file_make_the_same_tokenizer(special_tokens, tmp_path):
    vocabulary = [*special_tokens, "Ab", "字", "", "##c"]
    first = BertTokenizer(vocabulary, lowercase=False, max_word_characters=50)
    config = json.loads(json.dumps(first.get_config()))
    first.save_vocabulary(tmp_path / "vocab.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]
    from_file = BertTokenizer(tmp_path / "vocab.txt", lowercase=False, max_word_characters=50)
    for other in (
        BertTokenizer.from_config(config),
        from_file,
        pickle.loads(pickle.dumps(first)),
        copy.deepcopy(first),
    ):
        assert other.get_config() == first.get_config()
        assert other("Abc字 ab").numpy().tolist() == [5, 8, 6, 1]


def test_a_vocabulary_of_the_other_casing_is_told(special_tokens):
    cased = [*special_tokens, *(f"{a}{b}" for a in "ABCDEFG" for b in "abcdefg")]
    with pytest.warns(UserWarning, match="looks made for lowercase=False"):
        BertTokenizer(cased, lowercase=True)
    uncased = [*special_tokens, *(f"{a}{b}c" for a in map(chr, range(97, 123)) for b in "bcdefg")]
    uncased += [f"{a}{b}cd" for a in map(chr, range(97, 123)) for b in map(chr, range(97, 123))]
    uncased += [f"##{token}" for token in uncased[5:]]
    with pytest.warns(UserWarning, match="looks made for lowercase=True"):
        BertTokenizer(uncased, lowercase=False)
