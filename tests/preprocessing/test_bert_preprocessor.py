import itertools
import json
import math

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import BertPreprocessor, BertTokenizer
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import Tokens

CLS, SEP = 2, 3
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


def laid_out(first, second, length):
    """Rows `(token_ids, segment_ids, padding_mask)` as lists, from what is left of each text."""
    ids = [[CLS, *first, SEP]] + ([] if second is None else [[*second, SEP]])
    segments = [segment for segment, part in enumerate(ids) for _ in part]
    ids = [token for part in ids for token in part]
    padding = [0] * (length - len(ids))
    return ids + padding, segments + padding, [1] * len(ids) + padding


def rows_of(inputs):
    """Rows as `laid_out` gives them."""
    names = ("token_ids", "segment_ids", "padding_mask")
    return list(zip(*(inputs[name].tolist() for name in names), strict=True))


def kept(tokens, room, truncation):
    """What is left of a text where there is room for so many tokens."""
    gone = max(len(tokens) - room, 0)
    first = {"head": room, "tail": 0, "head_tail": math.ceil(room / 4)}[truncation]
    return tokens[:first] + tokens[first + gone :]


def test_only_the_head_of_a_long_text_is_tokenized(tokenizer, monkeypatch):
    read, flat_ids, preprocessor = [], tokenizer.flat_ids, BertPreprocessor(tokenizer, 8)
    monkeypatch.setattr(tokenizer, "flat_ids", lambda texts: read.extend(texts) or flat_ids(texts))
    for blank in ("", " " * 500, "\x00" * 500):
        texts = [blank + "a b c " * 5000, "", "abc" * 500, blank + "d"]
        whole = Tokens.of(*flat_ids(texts), numpy_ops)
        read.clear()
        assert rows_of(preprocessor(texts)) == rows_of(preprocessor.packer(whole))
        assert blank or sum(map(len, read)) < 5000


@pytest.mark.parametrize("truncation", ["head", "tail", "head_tail"])
def test_texts_and_pairs_are_truncated_as_google_truncates_them(tokenizer, vocabulary, truncation):
    sizes = list(itertools.product(range(len(FIRST) + 1), repeat=2))
    pairs = [(FIRST[:a], SECOND[:b]) for a, b in sizes]
    columns = [[" ".join(text) for text in column] for column in zip(*pairs, strict=True)]
    for length in (3, 4, 7, 16, 29):
        preprocessor = BertPreprocessor(tokenizer, length, truncation)
        alone, together = rows_of(preprocessor(columns[0])), rows_of(preprocessor(*columns))
        for pair, single, row in zip(pairs, alone, together, strict=True):
            google = truncate_as_google(*pair, length - 3)  # says how many tokens each text keeps
            left = [kept(*each, truncation) for each in zip(pair, map(len, google), strict=True)]
            assert truncation != "head" or left == [*google]
            ids = [list(map(vocabulary.index, text)) for text in left]
            assert row == laid_out(*ids, length), pair
            first = map(vocabulary.index, kept(pair[0], length - 2, truncation))
            assert single == laid_out(first, None, length), pair


def test_longest_first_truncates_pairs_as_hugging_face_does(tokenizer, vocabulary):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(vocabulary)})
    generator = np.random.default_rng(6)
    for length in range(4, 24):
        theirs.enable_truncation(length)  # longest_first by default
        sizes = generator.integers(0, 2 * length, (100, 2))
        pairs = [[" ".join(generator.choice(FIRST, size)) for size in pair] for pair in sizes]
        columns = map(list, zip(*pairs, strict=True))
        rows = BertPreprocessor(tokenizer, length, "longest_first")(*columns)
        ids = [row[: sum(row != 0)].tolist() for row in rows["token_ids"]]
        assert ids == [theirs.encode(*pair).ids for pair in pairs], length


def test_padding_is_the_vocabularys():
    moved = BertTokenizer(["[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "[PAD]"])
    [row] = rows_of(BertPreprocessor(moved, 5)(["a"], [""]))
    assert row == ([1, 4, 2, 2, 5], [0, 0, 0, 1, 0], [1, 1, 1, 1, 0])
    for values in BertPreprocessor(moved, 5)([]).values():
        assert (values.shape, values.dtype) == ((0, 5), "int32")


PREPROCESSORS = {
    "BertPreprocessor": {},
    "BertClassifierPreprocessor": {
        "label_names": ["no", "yes"],
        "multi_label": True,
        "threshold": 0.3,
        "window_stride": 2,
        "regression": False,
    },
    "BertTokenClassifierPreprocessor": {"label_names": ["O", "B-X"]},
    "BertSpanLabelerPreprocessor": {
        "document_stride": 3,
        "max_question_length": 2,
        "max_answer_length": 4,
        "null_threshold": -1.5,
    },
    "BertMultipleChoicePreprocessor": {},
    "BertRerankerPreprocessor": {"activation": "linear"},
    "BertEmbedderPreprocessor": {"prompts": {"query": "q: "}, "default_prompt_name": "query"},
}


def test_configuration_round_trip(tokenizer):
    for name, settings in PREPROCESSORS.items():
        kind = getattr(keras_bert, name)
        assert set(kind.arguments()) == {"sequence_length", "truncation", *settings}
        preprocessor = kind(tokenizer, np.int64(7), truncation="tail", **settings)
        config = json.loads(json.dumps(keras.saving.serialize_keras_object(preprocessor)))
        copy = keras.saving.deserialize_keras_object(config)
        assert type(copy) is kind and copy.get_config() == preprocessor.get_config()
        assert (copy.sequence_length, copy.truncation) == (7, "tail")
        assert {name: getattr(copy, name) for name in settings} == settings
        config["config"].pop("truncation")  # as it was saved before there was a choice
        assert keras.saving.deserialize_keras_object(config).truncation == "head"
        written = f"{name}(BertTokenizer(66 tokens, lowercase=True), sequence_len"
        assert repr(copy) == repr(preprocessor) and repr(copy).startswith(written)


def test_what_is_no_list_of_texts_and_no_room_for_a_token_is_refused(tokenizer, refused):
    for texts in (("a", "n"), [["a", "n"]]):
        refused("up to 1 text; got 2 together", BertPreprocessor(tokenizer, 8), texts)
    refused("2 texts but 1 second texts", BertPreprocessor(tokenizer, 8), ["a", "b"], ["n"])
    refused("sequence_length must be at least 3", BertPreprocessor, tokenizer, 2)
