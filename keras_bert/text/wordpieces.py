"""WordPiece ids of texts, in plain Python and NumPy. N texts, T tokens of all texts."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

import numpy as np

from keras_bert.text.basic_words import BasicWords, chunks, plain
from keras_bert.text.vocabulary import UNK

_MAX_CACHED = 2**18  # chunks: the words of 30 novels, about 50 MB
_MAX_CACHED_CHARACTERS = 40  # longer chunks, such as Chinese sentences, rarely repeat
_CHARACTERS_AT_ONCE = 2**18
_NO_SPACE = 0x3001  # the first code point beyond all spaces
_IS_SPACE = np.array([chr(point).isspace() for point in range(_NO_SPACE + 1)])


class Wordpieces:
    """Cuts texts into the pieces of a vocabulary; longer words than the limit become [UNK].

    The text between two spaces is a chunk. Most occur again, so their tokens are kept, as bytes.
    """

    def __init__(self, tokens: Sequence[str], lowercase: bool, max_word_characters: int):
        self._words = BasicWords(lowercase)
        self._max_word_characters = max_word_characters
        self._first = {token: index for index, token in enumerate(tokens)}
        self._next = {t[2:]: index for t, index in self._first.items() if t.startswith("##")}
        self._unknown = self._first[UNK]
        self._longest = max(map(len, tokens))
        self.found = set()  # ids of all pieces so far, also of words that became [UNK] after them
        self._ids = _Cache(self._chunk_ids)
        self._spans = _Cache(self._chunk_spans)
        self._pieces = _Cache(self._part_pieces)

    def ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all tokens, int32 `[T]`, and each text's number, int64 `[N]`."""
        ids = self._ids.__getitem__
        rows = [b"".join(map(ids, chunks(text))) for text in texts]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // 4
        return np.frombuffer(bytearray().join(rows), np.int32), lengths

    def ids_and_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Returns `(ids, starts, ends, lengths)`, offsets in characters, int64 `[T]`."""
        parts = [self._group_spans(group) for group in _groups(texts)]
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _group_spans(self, texts):
        joined = plain("\n".join(["", *texts]))  # begins with a space
        rows = [*map(self._spans.__getitem__, joined.split())]
        spans = np.frombuffer(b"".join(rows), np.int32).reshape(-1, 3)
        counts = np.fromiter(map(len, rows), np.int64, len(rows)) // 12
        is_space = _IS_SPACE[np.minimum(code_points(joined), _NO_SPACE)]
        begins = 1 + np.flatnonzero(is_space[:-1] & ~is_space[1:])  # of the chunks
        text_begins = np.cumsum([1, *(len(text) + 1 for text in texts)])
        first = np.searchsorted(begins, text_begins)  # chunk of each text
        before = np.concatenate([[0], np.cumsum(counts)])
        lengths = np.diff(before[first])
        begins -= np.repeat(text_begins[:-1], np.diff(first))
        shift = np.repeat(begins, counts)
        return spans[:, 0].copy(), shift + spans[:, 1], shift + spans[:, 2], lengths

    def _chunk_ids(self, chunk):
        parts = self._words.parts(chunk)
        if parts != [chunk]:
            return b"".join(map(self._ids.__getitem__, parts))
        return array("i", self._part_pieces(chunk)[0]).tobytes()

    def _chunk_spans(self, chunk):
        """Returns the bytes of int32 `[T, 3]`: id, start and end of each token."""
        parts = self._words.parts(chunk)
        pieces = self._pieces.__getitem__ if len(parts) > 1 else self._part_pieces
        ids, sizes = [], []
        for part_ids, part_sizes in map(pieces, parts):
            ids += part_ids
            sizes += part_sizes
        bounds = [*accumulate(sizes, initial=0)]  # letters of the words
        if chunk.isascii() and bounds[-1] == len(chunk):
            starts, ends = bounds[:-1], bounds[1:]
        else:
            sources, character_ends = self._words.sources(chunk)
            starts = [sources[letter] for letter in bounds[:-1]]
            ends = [character_ends[sources[letter - 1]] for letter in bounds[1:]]
        return array("i", chain.from_iterable(zip(ids, starts, ends, strict=True))).tobytes()

    def _part_pieces(self, part):
        """Returns the ids of the tokens of a part of a chunk, and their numbers of letters."""
        ids, sizes = [], []
        for word in self._words.words(part):
            if word in self._first and len(word) <= self._max_word_characters:
                ids.append(self._first[word])
                sizes.append(len(word))
            else:
                word_ids, word_sizes = self._cut(word)
                ids += word_ids
                sizes += word_sizes
        self.found.update(ids)
        return ids, sizes

    def _cut(self, word):
        """Cuts a word greedily; returns the ids of its pieces and their numbers of letters."""
        unknown = [self._unknown], [len(word)]
        if len(word) > self._max_word_characters:
            return unknown
        ids, sizes, start, pieces = [], [], 0, self._first
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = pieces.get(word[start:end])
                if piece is not None:
                    break
            else:
                self.found.update(ids)
                return unknown
            ids.append(piece)
            sizes.append(end - start)
            start, pieces = end, self._next
        return ids, sizes


class _Cache(dict):
    """A bounded table of results for chunks of text, which fills itself."""

    def __init__(self, compute):
        super().__init__()
        self._compute = compute

    def __missing__(self, chunk):
        result = self._compute(chunk)
        if len(chunk) <= _MAX_CACHED_CHARACTERS:
            if len(self) >= _MAX_CACHED:
                self.clear()
            self[chunk] = result
        return result


def code_points(text: str) -> np.ndarray:
    """Returns the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def byte_places(text: str) -> np.ndarray:
    """Returns the place in UTF-8 of each character of a text and of its end, int64."""
    points = code_points(text)
    is_byte = (points >> 8) == 0xDC  # of bytes that aren't UTF-8
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([[0], np.cumsum(np.where(is_byte, 1, sizes))])


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    group, num_characters = [], 0
    for text in texts:
        group.append(text)
        num_characters += len(text)
        if num_characters > _CHARACTERS_AT_ONCE:
            yield group
            group, num_characters = [], 0
    yield group
