"""Tagged words as rows for the model. W words in all sentences, T pieces, N rows."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from keras_bert.messages import check_one_each
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import ExampleList, as_arrays
from keras_bert.preprocessing.text_rows import TextRows, scattered
from keras_bert.text import numpy_ops
from keras_bert.text.base_tokenizer import as_str
from keras_bert.text.tokens import Tokens, numbered

NO_LABEL = -100
"""The label of a word without one, as in transformers: it is not trained on, and not scored."""


@dataclasses.dataclass
class Sentences(ExampleList):
    """Sentences of words; those of a document, in a row, are each other's context."""

    words: list[Sequence[str]]  # of each of n sentences
    documents: np.ndarray | None = None  # `[n]`

    @classmethod
    def of(cls, x: Any) -> Self:
        """Reads a list of sentences, or a dict of these as `words` and perhaps of `documents`."""
        documents = None
        if isinstance(x, dict):
            x, documents = x["words"], x.get("documents")
        words = list(as_arrays(x))
        if documents is not None:
            check_one_each(len(words), "sentences", documents=documents)
            documents = np.asarray(documents)
        return cls(words, documents)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, part):
        if not isinstance(part, slice):
            return self.words[part]
        documents = self.documents
        if documents is not None:
            documents = documents[part]
        return Sentences(self.words[part], documents)

    def parts(self, size: int) -> Iterator[Self]:
        """Cuts sentences into parts of at least `size`, with all sentences of a document in one."""
        own = np.arange(len(self)) if self.documents is None else self.documents
        ends, start = np.append(1 + np.flatnonzero(own[1:] != own[:-1]), len(self)), 0
        while start < len(self):
            end = int(ends[np.searchsorted(ends, min(start + size, len(self)))])
            yield self[start:end]
            start = end


class TaggedRows(TextRows):
    """Words of sentences, as rows for the model.

    A sentence is one row. If it is too long, it is read in windows that overlap by half, and each
    word counts in the one where it has the most context, as in a raw text. With `documents`, each
    row is filled up with the text before and after its words in their document. Context is neither
    trained on nor answered (section 5.3 of the paper).
    """

    def __init__(
        self,
        sentences: Sentences,
        preprocessor: Any,
        labels: Sequence[Sequence[int]] | None = None,  # the class of each word
    ):
        self.labels = None if labels is None else _flat_labels(sentences, labels)  # [W]
        words = [_sentence_words(index, sentence) for index, sentence in enumerate(sentences)]
        self.lengths = np.array([*map(len, words)], "int64")  # [n], words of each sentence
        if not self.lengths.sum():
            raise ValueError("There are no words: give at least one sentence with words.")
        room = preprocessor.sequence_length - 2
        self.pieces, self.starts = _pieces(words, preprocessor.tokenizer, room)
        bounds = self.starts[np.cumsum([0, *self.lengths])]  # of the pieces of sentences
        tokens = Tokens(self.pieces, bounds[:-1], np.diff(bounds), numpy_ops)
        sentence, _ = numbered(self.lengths, numpy_ops)  # [W]
        windows, window = tokens.central_windows(room, self.starts[:-1], sentence)
        first = np.flatnonzero(np.diff(window, prepend=-1))
        self.words = np.stack([first, [*first[1:], len(window)]], axis=1)  # of rows, `[N, 2]`
        windows = windows.take(window[first])
        if sentences.documents is not None:
            document = np.repeat(sentences.documents, self.lengths)
            windows = _with_context(windows, self.starts, self.words, document, room)
        super().__init__(preprocessor.packer, (windows,))

    def batch(self, rows: np.ndarray, batching: Batching) -> tuple:
        """Makes `(inputs,)`, or `(inputs, labels, weights)` with weight 1 at first pieces."""
        inputs = self.inputs(rows, batching)
        if self.labels is None:
            return (inputs,)
        row, word, position = self._first_pieces(rows)
        shape, places = inputs["token_ids"].shape, (row, position)
        labels = self.labels[word]
        weights = scattered(places, (labels != NO_LABEL).astype("float32"), shape)
        return inputs, scattered(places, np.maximum(labels, 0), shape), weights

    def at_words(self, outputs: np.ndarray) -> np.ndarray:
        """Gathers the outputs of words, `[W, C]`, from `[N, S, C]`."""
        row, _, position = self._first_pieces(np.arange(len(self.words)))
        return outputs[row, position]

    def _first_pieces(self, rows):
        """Returns `(row, word, position)` of the first piece of each word of rows by number."""
        first, last = self.words[rows].T
        row, number = numbered(last - first, numpy_ops)
        word = first[row] + number
        [windows] = self.columns
        return row, word, 1 + self.starts[word] - windows.starts[rows][row]  # after [CLS]


def _sentence_words(index, words):
    if isinstance(words, (str, bytes)):
        raise ValueError(f"Sentence {index} must be a list of words; got the string {words!r}.")
    return [as_str(f"The word {word!r} of sentence {index}", word) for word in words]


def _pieces(words, tokenizer, room):
    """Returns the ids of all words and a 0, int32 `[T + 1]`; the first of each and T, `[W + 1]`.

    A word without pieces gets [UNK], and a word that is longer than a sequence is cut.
    """
    flat = [word for sentence in words for word in sentence]
    tokens = Tokens.of(*tokenizer.ids_of_words(flat), numpy_ops)
    values, lengths = tokens.values, np.minimum(tokens.lengths, room)
    values[-1] = tokenizer.unk_token_id
    begins = np.where(lengths > 0, tokens.starts, len(values) - 1)
    lengths = np.maximum(lengths, 1)
    word, piece = numbered(lengths, numpy_ops)
    pieces = np.append(values[begins[word] + piece], np.int32(0))
    return pieces, np.concatenate([[0], np.cumsum(lengths)])


def _with_context(windows, starts, words, document, room):
    """Extends rows by as many words of context as fit, half of them before and half after."""
    cuts = 1 + np.flatnonzero(document[1:] != document[:-1])
    bounds = np.array([0, *cuts, len(document)])
    own_first, own_last = words.T
    number = np.searchsorted(bounds, own_first, side="right")
    first_word, behind_last = bounds[number - 1], bounds[number]
    free = room - np.minimum(starts[own_last] - starts[own_first], room)
    after = np.minimum(free, starts[behind_last] - starts[own_last])
    before = np.maximum(free // 2, free - after)
    first = np.searchsorted(starts, starts[own_first] - before, side="left")
    first = np.maximum(first, first_word)
    last = np.searchsorted(starts, starts[first] + room, side="right") - 1
    last = np.clip(last, own_last, behind_last)
    first = np.searchsorted(starts, starts[last] - room, side="left")  # the room still free
    first = starts[np.clip(first, first_word, own_first)]
    return dataclasses.replace(
        windows, starts=first, lengths=np.minimum(starts[last] - first, room)
    )


def _flat_labels(sentences, labels):
    check_one_each(len(sentences), "sentences", **{"lists of labels": labels})
    for index, (sentence, numbers) in enumerate(zip(sentences, labels, strict=True)):
        check_one_each(len(sentence), f"words in sentence {index}", labels=numbers)
    return np.array([number for numbers in labels for number in numbers], "int32")


def holds_words(x: Any) -> bool:
    """Returns whether `x` holds sentences: a list of lists of strings, or a dict with `words`."""
    if isinstance(x, dict):
        return "words" in x
    x = as_arrays(x)
    if not isinstance(x, (list, tuple, np.ndarray)) or getattr(x, "shape", None) == ():
        return False
    sentences = [sentence for sentence in x if not isinstance(sentence, (str, bytes))]
    is_words = (isinstance(s, (list, tuple, np.ndarray)) for s in sentences)
    return bool(sentences) and all(is_words)
