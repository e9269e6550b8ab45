import itertools

import numpy as np

from keras_bert import BertPreprocessor
from keras_bert.preprocessing.text_rows import located
from keras_bert.preprocessing.text_words import text_words
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import Tokens


def words_of(preprocessor, *texts):
    return text_words(located(preprocessor, list(texts)), preprocessor.packer)


def test_words_are_those_of_tagged_files(preprocessor):
    for text, expected in {
        "abc de": "abc|de",
        "(don't)": "(|don't|)",
        "in a-b, cd.": "in|a-b|,|cd|.",
        "...": ".|.|.",
        "@abc  'a.b.'\n": "@|abc|'|a.b|.|'",
        "中国 a中b": "中|国|a|中|b",
        "«ab» жж, жa?": "«|ab|»|жж|,|жa|?",  # unknown marks, unknown words
        "龍a": "龍|a",
        "e\u0301t a\u0301 Ä": "e\u0301t|a\u0301|Ä",
        "": "",
        "  \u200b ": "",
        "a\u200cb -c\u00ad\u200bd": "a\u200cb|-|c\u00ad\u200bd",
    }.items():
        words = words_of(preprocessor, text)
        found = [text[start:end] for start, end in zip(words.start, words.end, strict=True)]
        assert "|".join(found) == expected, text


SIZES = list(itertools.product((1, 2, 3, 8, 31), (1, 7, 8, 9, 12, 13, 100, 333)))


def test_windows_overlap_by_half_and_a_token_is_read_where_it_has_the_most_context():
    for room, length in SIZES:
        lengths = np.array([9, length])
        token, text = np.arange(9 + length), np.repeat([0, 1], lengths)
        tokens = Tokens.of(token, lengths, numpy_ops)
        windows, chosen = tokens.central_windows(room, token, text)
        before = token[:, None] - windows.starts
        context = np.minimum(before, windows.lengths - 1 - before)  # [T, N]
        assert np.array_equal(context[token, chosen], context.max(axis=1)), (room, length)
        counts = -(-np.maximum(lengths - room, 0) // max(room // 2, 1))
        assert len(windows.starts) == 2 + counts.sum()


def test_every_word_of_a_long_text_is_read(tokenizer):
    for room, length in SIZES:
        preprocessor = BertPreprocessor(tokenizer, room + 2)
        letters = np.random.default_rng(length).choice([*"abcdefghijklmnopqrst"], length)
        words = words_of(preprocessor, " ".join(letters))
        token_ids = words.as_batch()[0]["token_ids"]
        window, position = words.window, words.position
        read = token_ids[window, position].tolist()
        assert [*map(tokenizer.id_to_token, read)] == letters.tolist(), length
        assert (np.diff(window) >= 0).all(), length
