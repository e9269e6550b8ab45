"""Tagged words as rows for the model. W words in all sentences, T pieces, N rows."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from keras_bert.messages import check_one_each
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import ExampleList, as_arrays, is_text
from keras_bert.preprocessing.labels import NO_LABEL
from keras_bert.preprocessing.text_rows import TextRows, scattered
from keras_bert.text import numpy_ops
from keras_bert.text.base_tokenizer import as_str
from keras_bert.text.tokens import Tokens, numbered


@dataclasses.dataclass
class Sentences(ExampleList):
    """Sentences of words; neighbors from the same document are each other's context."""

    words: list[Sequence[str]]  # of each of n sentences
    documents: np.ndarray | None = None  # `[n]`

    @classmethod
    def of(cls, x: Any) -> Self:
        """Reads a list of sentences, or a dict with these as `words` and perhaps `documents`."""
        if not isinstance(x, dict):
            return cls(list(as_arrays(x)))
        words = list(as_arrays(x["words"]))
        documents = x.get("documents")
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
        """Cuts sentences into parts of at least `size`, without cutting a document."""
        ends = np.arange(1, len(self) + 1)
        if self.documents is not None:
            ends = _document_bounds(self.documents)[1:]
        start = 0
        while start < len(self):
            least = min(start + size, len(self))
            end = int(ends[np.searchsorted(ends, least)])
            yield self[start:end]
            start = end


class TaggedRows(TextRows):
    """Words of sentences, as rows for the model.

    A sentence is one row. If it is too long, it is read in windows that overlap by half, and each
    word counts in the window where it has the most context, as in a raw text. With `documents`,
    each row is filled up with the text before and after its words in their document. Context is
    neither trained on nor answered (section 5.3 of the paper).
    """

    def __init__(
        self,
        sentences: Sentences,
        preprocessor: Any,
        labels: Sequence[Sequence[int]] | None = None,  # the class of each word
    ):
        self.labels = None  # [W]
        if labels is not None:
            self.labels = _flat_labels(sentences, labels)
        words, lengths = _checked_words(sentences)
        room = preprocessor.sequence_length - 2
        ids, num_pieces = _pieces(words, preprocessor.tokenizer, room)
        sentence, _ = numbered(lengths, numpy_ops)  # [W]
        sentence_lengths = numpy_ops.segment_sum(num_pieces, sentence, len(lengths))
        tokens = Tokens.of(ids, sentence_lengths, numpy_ops)
        self.lengths = lengths  # [n], words of each sentence
        self.starts = np.append(0, np.cumsum(num_pieces))  # [W + 1], first pieces of words
        windows, window = tokens.central_windows(room, self.starts[:-1], sentence)
        first = np.flatnonzero(np.diff(window, prepend=-1))
        end = np.append(first[1:], len(window))
        self.words = np.stack([first, end], axis=1)  # of rows, `[N, 2]`
        windows = windows.take(window[first])
        if sentences.documents is not None:
            document = np.repeat(sentences.documents, lengths)
            windows = _with_context(windows, self.starts, self.words, document, room)
        super().__init__(preprocessor.packer, (windows,))

    def batch(self, rows: np.ndarray, batching: Batching) -> tuple:
        """Makes `(inputs,)`, or `(inputs, labels, weights)` with weight 1 at first pieces."""
        inputs = self.inputs(rows, batching)
        if self.labels is None:
            return (inputs,)
        row, word, position = self._first_pieces(rows)
        labels = self.labels[word]
        weights = (labels != NO_LABEL).astype("float32")
        indices = (row, position)
        shape = inputs["token_ids"].shape
        labels = scattered(indices, np.maximum(labels, 0), shape)
        return inputs, labels, scattered(indices, weights, shape)

    def at_words(self, outputs: np.ndarray) -> np.ndarray:
        """Gathers the outputs of words, `[W, C]`, from `[N, S, C]`."""
        rows = np.arange(len(self.words))
        row, _, position = self._first_pieces(rows)
        return outputs[row, position]

    def _first_pieces(self, rows):
        """Returns `(row, word, position)` of the first piece of each word of rows by number."""
        first, end = self.words[rows].T
        row, offset = numbered(end - first, numpy_ops)
        word = first[row] + offset
        window_starts = self.columns[0].starts[rows]
        return row, word, 1 + self.starts[word] - window_starts[row]  # after [CLS]


def _checked_words(sentences):
    """Returns the words of all sentences, a list of W str, and their counts, int64 `[n]`."""
    words = []
    lengths = []
    for index, sentence in enumerate(sentences):
        if is_text(sentence):
            raise ValueError(
                f"Sentence {index} must be a list of words; got the string {sentence!r}."
            )
        checked = [as_str(f"The word {word!r} of sentence {index}", word) for word in sentence]
        words.extend(checked)
        lengths.append(len(checked))
    if not words:
        raise ValueError("There are no words: give at least one sentence with words.")
    return words, np.array(lengths, "int64")


def _pieces(words, tokenizer, room):
    """Returns the ids of all pieces, int32 `[T]`, and the number of pieces a word, int64 `[W]`.

    A word without pieces gets [UNK], and a word that is longer than a sequence is cut.
    """
    ids, lengths = tokenizer.ids_of_words(words)
    ends = np.cumsum(lengths)
    ids = np.insert(ids, ends[lengths == 0], tokenizer.unk_token_id)
    lengths = np.maximum(lengths, 1)
    _, piece = numbered(lengths, numpy_ops)
    return ids[piece < room], np.minimum(lengths, room)


def _with_context(windows, starts, words, document, room):
    """Extends rows by as many words of context as fit, half of them before and half after.

    A side of the document that is short leaves its room to the other side.
    """
    row_first, row_end = words.T
    bounds = _document_bounds(document)
    next_document = np.searchsorted(bounds, row_first, side="right")
    document_first = bounds[next_document - 1]
    document_end = bounds[next_document]
    num_pieces = starts[row_end] - starts[row_first]
    free = np.maximum(room - num_pieces, 0)
    after = np.minimum(free, starts[document_end] - starts[row_end])
    before = np.maximum(free // 2, free - after)
    first = np.searchsorted(starts, starts[row_first] - before)
    first = np.maximum(first, document_first)
    end = np.searchsorted(starts, starts[first] + room, side="right") - 1
    end = np.clip(end, row_end, document_end)
    first = np.searchsorted(starts, starts[end] - room)  # whole words seldom fill the room
    first = np.clip(first, document_first, row_first)
    lengths = np.minimum(starts[end] - starts[first], room)
    return dataclasses.replace(windows, starts=starts[first], lengths=lengths)


def _document_bounds(documents):
    """Returns the indices at which documents begin, and at which the last one ends."""
    last = np.flatnonzero(documents[1:] != documents[:-1])
    return np.concatenate([[0], last + 1, [len(documents)]])


def _flat_labels(sentences, labels):
    check_one_each(len(sentences), "sentences", **{"lists of labels": labels})
    flat = []
    for index, sentence_labels in enumerate(labels):
        check_one_each(len(sentences[index]), f"words in sentence {index}", labels=sentence_labels)
        flat.extend(sentence_labels)
    return np.array(flat, "int32")


def holds_words(x: Any) -> bool:
    """Returns whether `x` holds sentences: a list of lists of strings, or a dict with `words`."""
    if isinstance(x, dict):
        return "words" in x
    x = as_arrays(x)
    lists = (list, tuple, np.ndarray)
    if not isinstance(x, lists) or getattr(x, "shape", None) == ():
        return False
    sentences = [sentence for sentence in x if not is_text(sentence)]
    return bool(sentences) and all(isinstance(sentence, lists) for sentence in sentences)
