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
_IS_SPACE = np.array([chr(code).isspace() for code in range(_NO_SPACE + 1)])


class Wordpieces:
    """Cuts texts into the pieces of a vocabulary; longer words than the limit become [UNK].

    The text between two spaces is a chunk. Most occur again, so their tokens are kept, as bytes.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        lowercase: bool,
        max_word_characters: int,
        strip_accents: bool = True,
    ):
        self._words = BasicWords(lowercase, strip_accents)
        self._max_word_characters = max_word_characters
        self._begins = {token: index for index, token in enumerate(tokens)}  # ids
        self._continues = {}
        for token, index in self._begins.items():
            if token.startswith("##"):
                self._continues[token[2:]] = index
        self._unknown = self._begins[UNK]
        self._longest = max(len(token) for token in tokens)
        self.used = set()  # ids of all pieces so far, with those of words that then became [UNK]
        self._ids = _Cache(self._chunk_ids)
        self._spans = _Cache(self._chunk_spans)
        self._pieces = _Cache(self._part_pieces)

    def ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all tokens, int32 `[T]`, and each text's number, int64 `[N]`."""
        ids = self._ids.__getitem__
        rows = [b"".join(map(ids, chunks(text))) for text in texts]
        lengths = np.array([len(row) // 4 for row in rows], np.int64)
        return np.frombuffer(bytearray().join(rows), np.int32), lengths

    def ids_and_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Returns `(ids, starts, ends, lengths)`, offsets in characters, int64 `[T]`."""
        groups = [self._group_spans(group) for group in _groups(texts)]
        return tuple(np.concatenate(arrays) for arrays in zip(*groups, strict=True))

    def _group_spans(self, texts):
        joined = plain("\n".join(["", *texts]))  # begins with a space
        rows = list(map(self._spans.__getitem__, joined.split()))
        spans = np.frombuffer(b"".join(rows), np.int32).reshape(-1, 3)
        counts = np.fromiter(map(len, rows), np.int64, len(rows)) // 12  # tokens of each chunk
        is_space = _IS_SPACE[np.minimum(code_points(joined), _NO_SPACE)]
        begins = 1 + np.flatnonzero(is_space[:-1] & ~is_space[1:])  # of the chunks
        sizes = [len(text) + 1 for text in texts]
        text_begins = np.cumsum([1, *sizes])
        first = np.searchsorted(begins, text_begins)  # chunk of each text
        num_before = np.concatenate([[0], np.cumsum(counts)])  # tokens before each chunk
        lengths = np.diff(num_before[first])
        begins -= np.repeat(text_begins[:-1], np.diff(first))
        shift = np.repeat(begins, counts)
        ids, starts, ends = spans.T
        return ids.copy(), shift + starts, shift + ends, lengths

    def _chunk_ids(self, chunk):
        parts = self._words.parts(chunk)
        if parts != [chunk]:
            return b"".join(map(self._ids.__getitem__, parts))
        return array("i", self._part_pieces(chunk)[0]).tobytes()

    def _chunk_spans(self, chunk):
        """Returns the bytes of int32 `[T, 3]`: id, start and end of each token."""
        parts = self._words.parts(chunk)
        if parts == [chunk]:  # is cached with its spans
            ids, sizes = self._part_pieces(chunk)
        else:
            ids, sizes = [], []
            for part in parts:
                part_ids, part_sizes = self._pieces[part]
                ids += part_ids
                sizes += part_sizes
        bounds = list(accumulate(sizes, initial=0))  # letters of the words
        if chunk.isascii() and bounds[-1] == len(chunk):
            starts = bounds[:-1]
            ends = bounds[1:]
        else:
            sources, character_ends = self._words.sources(chunk)
            starts = [sources[letter] for letter in bounds[:-1]]
            ends = [character_ends[sources[letter - 1]] for letter in bounds[1:]]
        spans = zip(ids, starts, ends, strict=True)
        return array("i", chain.from_iterable(spans)).tobytes()

    def _part_pieces(self, part):
        """Returns the ids of the tokens of a part of a chunk, and their numbers of letters."""
        ids, sizes = [], []
        for word in self._words.words(part):
            if word in self._begins and len(word) <= self._max_word_characters:
                ids.append(self._begins[word])
                sizes.append(len(word))
            else:
                word_ids, word_sizes = self._cut(word)
                ids += word_ids
                sizes += word_sizes
        self.used.update(ids)
        return ids, sizes

    def _cut(self, word):
        """Cuts a word greedily; returns the ids of its pieces and their numbers of letters."""
        unknown = [self._unknown], [len(word)]
        if len(word) > self._max_word_characters:
            return unknown
        ids, sizes = [], []
        start, pieces = 0, self._begins
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = pieces.get(word[start:end])
                if piece is not None:
                    break
            else:
                self.used.update(ids)
                return unknown
            ids.append(piece)
            sizes.append(end - start)
            start = end
            pieces = self._continues
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


def byte_offsets(text: str) -> np.ndarray:
    """Returns the place in UTF-8 of each character of a text and of its end, int64."""
    points = code_points(text)
    is_byte = (points >> 8) == 0xDC  # of bytes that aren't UTF-8
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    sizes[is_byte] = 1
    return np.concatenate([[0], np.cumsum(sizes)])


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    group, num_characters = [], 0
    for text in texts:
        group.append(text)
        num_characters += len(text)
        if num_characters > _CHARACTERS_AT_ONCE:
            yield group
            group, num_characters = [], 0
    yield group
