"""Words of raw texts and the windows that hold them, in the TensorFlow graph."""

from __future__ import annotations

import dataclasses
import unicodedata
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.byte_spans import byte_spans
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.overlapping_windows import overlapping_windows
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.rows import row_lengths

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


_MARK, _CHARACTER, _GOES_ON = 1, 2, 3


@dataclasses.dataclass
class TextWords:
    """Words of texts, each with its row and position. W words, N rows.

    Attributes:
        texts: string `[B]`.
        preprocessor: a `BertPreprocessor`.
        windows: int32 ragged `[N, (T)]`, token ids for the preprocessor to pack.
        text: int64 `[W]`, the text of each word, in ascending order.
        window: int64 `[W]`, the row in which each word has the most context.
        position: int64 `[W]`, the position of each word's first piece in the packed row.
        start: int64 `[W]`, the first byte of each word in its text.
        end: int64 `[W]`, the byte after each word.
    """

    texts: tf.Tensor
    preprocessor: BertPreprocessor
    windows: tf.RaggedTensor
    text: tf.Tensor
    window: tf.Tensor
    position: tf.Tensor
    start: tf.Tensor
    end: tf.Tensor

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[N]`, the number of tokens of each row without padding."""
        return row_lengths(self.windows) + 2

    @in_graph
    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs,)` for rows by number, `[B]`."""
        return (trimmed(self.preprocessor.pack(tf.gather(self.windows, rows)), batching),)


@in_graph
def text_words(texts: tf.Tensor, preprocessor: BertPreprocessor) -> TextWords:
    """Splits raw texts into words as in files of tagged words.

    Words are separated by spaces, and punctuation at their ends is split off: "(don't)" is three
    words. A Chinese character is a word. A text longer than a sequence is read in windows that
    overlap by half.

    Args:
        texts: string `[B]`.
        preprocessor: a `BertPreprocessor`.

    Returns:
        `TextWords`.
    """
    tokenizer = preprocessor.tokenizer
    ids, starts, ends = preprocessor.graph_tokenizer.tokenize_with_offsets(texts)
    kinds = _kinds(texts, ids, starts, ends, tokenizer)
    is_first = _begin_words(kinds, ids, starts.flat_values, ends.flat_values)
    token = tf.where(is_first)[:, 0]  # [W]
    behind = tf.concat([token[1:], [tf.size(is_first, tf.int64)]], axis=0)[: tf.size(token)]
    text = tf.gather(ids.value_rowids(), token)
    windows, window, position = _windows(ids, token, text, preprocessor.sequence_length - 2)
    return TextWords(
        texts=texts,
        preprocessor=preprocessor,
        windows=windows,
        text=text,
        window=window,
        position=position,
        start=tf.gather(starts.flat_values, token),
        end=tf.gather(ends.flat_values, behind - 1),
    )


def _kinds(texts, ids, starts, ends, tokenizer):
    """Returns the `_kind` of each token, `[T]`; [UNK] is classified by its text."""
    table = tf.constant([_kind(token) for token in tokenizer.get_vocabulary()])
    kinds = tf.gather(table, ids.flat_values)
    unknown = tf.where(ids.flat_values == tokenizer.unk_token_id)
    places = (ids.value_rowids(), starts.flat_values, ends.flat_values)
    strings = byte_spans(texts, *(tf.gather(place, unknown[:, 0]) for place in places))
    is_mark = tf.strings.regex_full_match(strings, r"[\p{P}$+<=>^`|~]")
    is_character = tf.strings.regex_full_match(strings, r"\p{Han}")
    found = tf.where(is_mark, _MARK, tf.where(is_character, _CHARACTER, 0))
    return tf.tensor_scatter_nd_update(kinds, unknown, found)


def _begin_words(kinds, ids, starts, ends):
    """Returns whether each token `[T]` begins a word."""
    is_mark, is_character = kinds == _MARK, kinds == _CHARACTER
    is_first_of_text = tf.concat([[True], ids.value_rowids()[1:] != ids.value_rowids()[:-1]], 0)
    has_space = tf.concat([[True], starts[1:] > ends[:-1]], axis=0)
    size = tf.size(kinds)
    begins_run = is_first_of_text[:size] | has_space[:size]
    run = tf.cumsum(tf.cast(begins_run, tf.int32)) - 1  # [T], number of the run between spaces
    letters = tf.cast(~is_mark, tf.int32)
    before = tf.cumsum(letters, exclusive=True)  # earlier tokens other than marks
    before_run = tf.gather(before, tf.where(begins_run)[:, 0])
    in_run = tf.math.segment_sum(letters, run)
    seen = before - tf.gather(before_run, run)
    leads = is_mark & (seen == 0)
    trails = is_mark & (seen == tf.gather(in_run, run))
    alone = leads | trails | is_character
    alone_before = tf.concat([[False], alone[:-1]], axis=0)[:size]
    return begins_run | ((alone | alone_before) & (kinds != _GOES_ON))


def _kind(token):
    """Classifies a token: mark, Chinese character, continuing piece ("##..."), or 0 for others."""
    if token.startswith("##"):
        return _GOES_ON
    if len(token) != 1:
        return 0
    if token.isascii():
        return 0 if token.isalnum() else _MARK
    if unicodedata.category(token).startswith("P"):
        return _MARK
    return _CHARACTER if unicodedata.name(token, "").startswith("CJK ") else 0


def _windows(ids, token, text, room):
    """Returns `(windows, window, position)` of the words that begin at tokens `[W]`."""
    stride = max(1, room // 2)
    windows, counts = overlapping_windows(ids, room, stride)
    before = tf.cumsum(counts, exclusive=True)
    index = token - tf.gather(ids.row_starts(), text)  # within the text
    number = (index - room // 2 + stride // 2) // stride  # the window with the nearest middle
    number = tf.clip_by_value(number, 0, tf.gather(counts, text) - 1)
    return windows, tf.gather(before, text) + number, 1 + index - number * stride
