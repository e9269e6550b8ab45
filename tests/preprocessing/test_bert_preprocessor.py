import itertools
import json
import math

import numpy as np
import pytest

from keras_bert import BertPreprocessor, BertTokenizer
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import Tokens

FIRST = "a b c d e f g h i j k l m".split()
SECOND = "n o p q r s t u v w x y z".split()


def truncate_as_google(tokens_a, tokens_b, max_length):
    """`_truncate_seq_pair` of google-research/bert run_classifier.py, one token at a time."""
    a, b = list(tokens_a), list(tokens_b)
    while len(a) + len(b) > max_length:
        if len(a) > len(b):
            a.pop()
        else:
            b.pop()
    return a, b


def kept(tokens, room, truncation):
    """What is left of a text where there is room for so many tokens."""
    gone = max(len(tokens) - room, 0)
    first = {"head": room, "tail": 0, "head_tail": math.ceil(room / 4)}[truncation]
    return tokens[:first] + tokens[first + gone :]


def assert_equal(found, expected, length=None):
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values[:, :length])


def test_only_the_head_of_a_long_text_is_tokenized(tokenizer, monkeypatch):
    read, flat_ids, preprocessor = [], tokenizer.flat_ids, BertPreprocessor(tokenizer, 8)
    monkeypatch.setattr(tokenizer, "flat_ids", lambda texts: read.extend(texts) or flat_ids(texts))
    for blank in ("", " " * 500, "\x00" * 500):
        texts = [blank + "a b c " * 5000, "", "abc" * 500, blank + "d"]
        whole = Tokens.of(*flat_ids(texts), numpy_ops)
        read.clear()
        assert_equal(preprocessor(texts), preprocessor.packer(whole))
        assert_equal(preprocessor(texts[:1]), preprocessor.packer(whole.take([0])))
        assert blank or sum(map(len, read)) < 5000


@pytest.mark.parametrize("truncation", ["head", "tail", "head_tail"])
def test_texts_and_pairs_are_truncated_as_google_truncates_them(tokenizer, truncation):
    sizes = itertools.product(range(len(FIRST) + 1), repeat=2)
    pairs = [(FIRST[:a], SECOND[:b]) for a, b in sizes]
    whole = BertPreprocessor(tokenizer, 29)  # truncates none of them

    def columns(pairs):
        return [[" ".join(text) for text in column] for column in zip(*pairs, strict=True)]

    for length in (3, 4, 7, 16, 29):
        left = []
        for pair in pairs:
            google = truncate_as_google(*pair, length - 3)  # says how many tokens each text keeps
            texts = zip(pair, google, strict=True)
            left.append([kept(text, len(room), truncation) for text, room in texts])
            assert truncation != "head" or left[-1] == [*google]
        preprocessor = BertPreprocessor(tokenizer, length, truncation)
        assert_equal(preprocessor(*columns(pairs)), whole(*columns(left)), length)
        heads = [[kept(first, length - 2, truncation)] for first, _ in pairs]
        assert_equal(preprocessor(columns(pairs)[0]), whole(*columns(heads)), length)


def test_longest_first_truncates_pairs_as_hugging_face_does(tokenizer, vocabulary):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(vocabulary)})
    generator = np.random.default_rng(6)
    names = {
        "token_ids": "ids",
        "segment_ids": "type_ids",
        "padding_mask": "attention_mask",
    }
    for length in range(4, 24):
        theirs.enable_truncation(length)  # longest_first by default
        theirs.enable_padding(length=length)
        sizes = generator.integers(0, 2 * length, (100, 2))
        pairs = [[" ".join(generator.choice(FIRST, size)) for size in pair] for pair in sizes]
        columns = map(list, zip(*pairs, strict=True))
        inputs = BertPreprocessor(tokenizer, length, "longest_first")(*columns)
        rows = [theirs.encode(*pair) for pair in pairs]
        for ours, name in names.items():
            assert inputs[ours].tolist() == [getattr(row, name) for row in rows], length


def test_special_tokens_are_the_vocabularys():
    moved = BertTokenizer(["[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "[PAD]"])
    inputs = BertPreprocessor(moved, 6)(["a b"], [""])
    rows = [values.tolist() for [values] in inputs.values()]
    assert rows == [[1, 4, 0, 2, 2, 5], [0, 0, 0, 0, 1, 0], [1, 1, 1, 1, 1, 0]]
    for values in BertPreprocessor(moved, 5)([]).values():
        assert (values.shape, values.dtype) == ((0, 5), "int32")


def test_a_config_is_json_and_an_old_one_keeps_the_head(tokenizer):
    preprocessor = BertPreprocessor(tokenizer, np.int64(7), truncation="tail")
    config = json.loads(json.dumps(preprocessor.get_config()))
    shown = "BertPreprocessor(BertTokenizer(66 tokens, lowercase=True), sequence_length=7, trunc"
    assert repr(BertPreprocessor.from_config(config)).startswith(shown)
    del config["truncation"]  # as it was saved before there was a choice
    assert BertPreprocessor.from_config(config).truncation == "head"


def test_what_is_no_list_of_texts_and_no_room_for_a_token_is_refused(tokenizer, refused):
    refused("up to 1 text; got 2 together", BertPreprocessor(tokenizer, 8), [["a", "n"]])
    refused("2 texts but 1 second texts", BertPreprocessor(tokenizer, 8), ["a", "b"], ["n"])
    refused("sequence_length must be at least 3", BertPreprocessor, tokenizer, 2)
