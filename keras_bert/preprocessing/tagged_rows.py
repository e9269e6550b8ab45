"""Tagged words as rows for the model. W words in all sentences, T pieces, N rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.text_examples import check_text

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


class TaggedRows:
    """Words of sentences, as rows for the model.

    A sentence is one row. If it is too long, it is split between words into several rows. With
    `documents`, each row is filled up with the text before and after it in its document. This
    context is neither trained on nor answered (section 5.3 of the paper).

    Args:
        words: lists of str, the words of each sentence.
        preprocessor: a `BertPreprocessor`.
        documents: `[n]` ints, the document of each sentence, in order; or None.
        labels: lists of int, the class of each word; or None.

    Attributes:
        pieces: int32 `[T]`, the token ids of all words. A word without pieces gets [UNK], and a
            word that is longer than a sequence is cut.
        starts: int64 `[W + 1]`, the first piece of each word, and T.
        windows: int64 `[N, 4]`, word numbers for each row: start of the context before it, start
            of its own words, end of its own words, and end of the context after it.
        labels: int32 `[W]`, or None.
        lengths: `[n]` ints, the number of words of each sentence.

    Raises:
        ValueError: if there are no words, or a sentence is not a list of words.
    """

    def __init__(
        self,
        words: Sequence[Sequence[str]],
        preprocessor: BertPreprocessor,
        documents: Sequence[int] | np.ndarray | None = None,
        labels: Sequence[Sequence[int]] | None = None,
    ):
        self.preprocessor = preprocessor
        self.labels = None if labels is None else _flat_labels(words, labels)
        self.lengths = np.array([len(_checked(index, ws)) for index, ws in enumerate(words)], int)
        if not self.lengths.sum():
            raise ValueError("There are no words: give at least one sentence with words.")
        if documents is not None and len(documents) != len(words):
            raise ValueError(
                f"There are {len(words)} sentences but {len(documents)} documents: give the "
                "document of each sentence."
            )
        room = preprocessor.sequence_length - 2
        self.pieces, self.starts = _pieces(words, preprocessor)
        ends = np.cumsum(self.lengths)
        own = _split(self.starts, ends - self.lengths, ends, room)  # [N, 2]
        context = own
        if documents is not None:
            context = _with_context(self.starts, own, _bounds(documents, self.lengths), room)
        self.windows = np.stack([context[:, 0], own[:, 0], own[:, 1], context[:, 1]], axis=1)
        with tf.device("CPU:0"):  # made once, so that graphs capture them and hold no copies
            arrays = (self.windows, self.starts, self.pieces, self.labels)
            self._tensors = [None if array is None else tf.constant(array) for array in arrays]

    def num_tokens(self) -> np.ndarray:
        """Returns the number of tokens of each row, `[N]`, including [CLS] and [SEP]."""
        return self.starts[self.windows[:, 3]] - self.starts[self.windows[:, 0]] + 2

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns `(row, position)` of each word's first piece, both `[W]`."""
        window = np.repeat(np.arange(len(self.windows)), self.windows[:, 2] - self.windows[:, 1])
        position = 1 + self.starts[:-1] - self.starts[self.windows[window, 0]]  # after [CLS]
        return window, position

    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs,)`, or `(inputs, labels, weights)` with weight 1 at first pieces.

        Args:
            rows: `[B]`, row numbers.
            batching: a `Batching` from `for_rows`.
        """
        return _batch(self.preprocessor, rows, batching, *self._tensors)

    def at_words(self, outputs: tf.Tensor) -> tf.RaggedTensor:
        """Gathers the outputs of words, ragged `[n, (W), C]`, from `[N, S, C]`."""
        return _at_words(self.preprocessor, outputs, np.stack(self.places(), 1), self.lengths)


@in_graph
def _batch(preprocessor, rows, batching, spans, starts, pieces, labels):
    """Makes the batch of rows `[B]`; see `TaggedRows.batch`."""
    first, own_first, own_last, last = tf.unstack(tf.gather(spans, rows), axis=1)
    tokens = tf.ragged.range(tf.gather(starts, first), tf.gather(starts, last))
    tokens = tokens.with_flat_values(tf.gather(pieces, tokens.flat_values))
    inputs = trimmed(preprocessor.pack(tokens), batching)
    if labels is None:
        return (inputs,)
    words = tf.ragged.range(own_first, own_last)  # [B, (words)]
    row, word = words.value_rowids(), words.flat_values
    position = 1 + tf.gather(starts, word) - tf.gather(starts, tf.gather(first, row))
    places = tf.stack([row, position], axis=1)
    shape = tf.shape(inputs["token_ids"], tf.int64)
    classes = tf.scatter_nd(places, tf.gather(labels, word), shape)  # [B, S]
    weights = tf.scatter_nd(places, tf.ones_like(word, tf.float32), shape)
    static = inputs["token_ids"].shape
    return inputs, tf.ensure_shape(classes, static), tf.ensure_shape(weights, static)


@in_graph
def _at_words(preprocessor, outputs, places, lengths):
    return tf.RaggedTensor.from_row_lengths(tf.gather_nd(outputs, places), lengths)


def _checked(index, words):
    if isinstance(words, (str, bytes)):
        raise ValueError(
            f"Sentence {index} must be a list of words; got the string {words!r}. Split it first."
        )
    for word in words:
        if not isinstance(word, (str, bytes)):
            raise ValueError(f"Sentence {index} has the word {word!r}, which is not a string.")
        check_text(f"The word {word!r} of sentence {index}", word)
    return words


def _pieces(words, preprocessor):
    """Returns `(pieces, starts)` of all words; each distinct word is tokenized once."""
    flat = [w.encode() if isinstance(w, str) else w for sentence in words for w in sentence]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(flat))}
    order = np.array([numbers[word] for word in flat])
    pieces = _pieces_of(preprocessor, tf.constant(list(numbers)), order)
    return pieces.flat_values.numpy(), pieces.row_splits.numpy()


@in_graph
def _pieces_of(preprocessor, distinct, order):
    """Tokenizes distinct words and returns the token ids of all words, ragged `[W, (T)]`."""
    ids = preprocessor.graph_tokenizer(distinct)[:, : preprocessor.sequence_length - 2]
    unknown = tf.fill([ids.nrows(), 1], preprocessor.tokenizer.unk_token_id)
    is_empty = tf.cast(ids.row_lengths() == 0, tf.int64)
    ids = tf.concat([ids, tf.RaggedTensor.from_tensor(unknown, lengths=is_empty)], axis=1)
    return tf.gather(ids, order)


def _split(starts, first_words, last_words, room):
    """Splits sentences into rows: the first word and the end of each, `[N, 2]`."""
    windows = []
    for first, last in zip(first_words.tolist(), last_words.tolist(), strict=True):
        while first < last:
            fits = int(np.searchsorted(starts, starts[first] + room, side="right")) - 1
            end = min(last, fits)
            windows.append((first, end))
            first = end
    return np.array(windows)


def _bounds(documents, lengths):
    """Returns the first word and the end of each word's document, `[W, 2]`."""
    documents = np.repeat(np.asarray(documents), lengths)
    cuts = np.flatnonzero(np.concatenate([[True], documents[1:] != documents[:-1]]))
    bounds = np.stack([cuts, np.append(cuts[1:], len(documents))], axis=1)
    return np.repeat(bounds, bounds[:, 1] - bounds[:, 0], axis=0)


def _with_context(starts, own, bounds, room):
    """Extends rows by as much context as fits, half of it before and half of it after."""
    first_word, behind_last = bounds[own[:, 0]].T
    free = room - (starts[own[:, 1]] - starts[own[:, 0]])
    after = np.minimum(free, starts[behind_last] - starts[own[:, 1]])
    before = np.maximum(free // 2, free - after)
    first = np.searchsorted(starts, starts[own[:, 0]] - before, side="left")
    first = np.maximum(first, first_word)
    last = np.searchsorted(starts, starts[first] + room, side="right") - 1
    last = np.minimum(last, behind_last)
    first = np.searchsorted(starts, starts[last] - room, side="left")  # the room still free
    return np.stack([np.maximum(first, first_word), last], axis=1)


def _flat_labels(words, labels):
    """Concatenates the labels of all words, `[W]`."""
    if len(words) != len(labels):
        raise ValueError(
            f"There are {len(words)} sentences but {len(labels)} lists of labels: give one list "
            "for each sentence."
        )
    for index, (sentence, numbers) in enumerate(zip(words, labels, strict=True)):
        if len(sentence) != len(numbers):
            raise ValueError(
                f"Sentence {index} has {len(sentence)} words but {len(numbers)} labels: give one "
                "for each word."
            )
    return np.array([number for numbers in labels for number in numbers], "int32")
