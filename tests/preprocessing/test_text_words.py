import numpy as np
import pytest
import tensorflow as tf

from keras_bert import BertPreprocessor
from keras_bert.preprocessing.text_words import text_words

LETTERS = "abcdefghijklmnopqrst"


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertPreprocessor(tokenizer, sequence_length=10)


def strings(text, words):
    data = text.encode()
    spans = zip(words.start.numpy(), words.end.numpy(), strict=True)
    return [data[start:end].decode() for start, end in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc de", ["abc", "de"]),
        ("(don't)", ["(", "don't", ")"]),
        ("in a-b, cd.", ["in", "a-b", ",", "cd", "."]),
        ("...", [".", ".", "."]),
        ("@abc  'a.b.'\n", ["@", "abc", "'", "a.b", ".", "'"]),
        ("中国 a中b", ["中", "国", "a", "中", "b"]),
        ("«ab» жж, жa?", ["«", "ab", "»", "жж", ",", "жa", "?"]),  # unknown marks, unknown words
        ("龍a", ["龍", "a"]),
        ("e\u0301t a\u0301 Ä", ["e\u0301t", "a\u0301", "Ä"]),
        ("", []),
        ("  \u200b ", []),
    ],
)
def test_words_are_those_of_tagged_files(preprocessor, text, expected):
    assert strings(text, text_words(tf.constant([text]), preprocessor)) == expected


def test_words_of_several_texts_and_in_a_graph_are_those_of_each(preprocessor):
    texts = ["ab, c", "", "中 (d", "a" * 30 + " b " * 40, "x"]
    names = ("position", "start", "end", "window", "windows")

    def read(texts):
        words = text_words(texts, preprocessor)
        return {name: getattr(words, name) for name in names}

    in_graph = tf.function(read, autograph=False)
    together = in_graph(tf.constant(texts))
    apart = [text_words(tf.constant([text]), preprocessor) for text in texts]
    for name in ("position", "start", "end"):
        found = np.concatenate([getattr(words, name) for words in apart])
        assert together[name].numpy().tolist() == found.tolist()
    offsets = np.cumsum([0] + [int(words.windows.nrows()) for words in apart])
    windows = [words.window + offset for words, offset in zip(apart, offsets, strict=False)]
    assert together["window"].numpy().tolist() == np.concatenate(windows).tolist()
    rows = [row for words in apart for row in words.windows.to_list()]
    assert together["windows"].to_list() == rows


@pytest.mark.parametrize("sequence_length", [3, 4, 5, 10, 33])
def test_every_word_of_a_long_text_is_read_where_it_stands_amid(tokenizer, sequence_length):
    preprocessor = BertPreprocessor(tokenizer, sequence_length)  # traced once for all lengths
    room = sequence_length - 2
    for length in (1, 7, 8, 9, 12, 13, 100, 333):
        letters = np.random.default_rng(length).choice(list(LETTERS), length)
        words = text_words(tf.constant([" ".join(letters)]), preprocessor)
        token_ids = preprocessor.pack(words.windows)["token_ids"].numpy()
        read = token_ids[words.window.numpy(), words.position.numpy()]
        assert [tokenizer.id_to_token(int(i)) for i in read] == letters.tolist(), length
        window, position = words.window.numpy(), words.position.numpy()
        assert (np.diff(window) >= 0).all() and set(window) <= set(range(len(token_ids))), length
        inner = (window > 0) & (window < len(token_ids) - 1)
        distance = np.minimum(position, room + 1 - position)
        assert (distance[inner] >= room // 4).all(), length
