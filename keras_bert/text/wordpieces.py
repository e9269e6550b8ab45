"""WordPiece ids of texts, in plain Python and NumPy. N texts, T tokens of all texts."""

from array import array
from collections.abc import Iterator, Sequence

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
        strip_private_use: bool = False,
    ):
        self._words = BasicWords(lowercase, strip_accents, strip_private_use)
        self._max_word_characters = max_word_characters
        self._begins = {}  # ids of pieces at the beginning of a word, and within words
        self._continues = {}
        for index, token in enumerate(tokens):
            self._begins[token] = index
            if token.startswith("##"):
                self._continues[token[2:]] = index
        self._unknown = self._begins[UNK]
        self._longest = max(len(token) for token in tokens)
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
        spans = np.frombuffer(b"".join(rows), np.int32)
        ids, starts, ends = spans.reshape(-1, 3).T
        counts = np.fromiter(map(len, rows), np.int64) // 12  # tokens of each chunk
        spaces = is_space(joined)
        begins = 1 + np.flatnonzero(spaces[:-1] & ~spaces[1:])  # of the chunks
        sizes = [len(text) + 1 for text in texts]
        text_begins = np.cumsum([1, *sizes])
        first = np.searchsorted(begins, text_begins)  # chunk of each text
        num_before = np.append(0, np.cumsum(counts))  # tokens before each chunk
        lengths = np.diff(num_before[first])
        begins -= np.repeat(text_begins[:-1], np.diff(first))
        shift = np.repeat(begins, counts)
        return ids.copy(), shift + starts, shift + ends, lengths

    def _chunk_ids(self, chunk):
        parts = self._words.parts(chunk)
        if parts != [chunk]:
            return b"".join(map(self._ids.__getitem__, parts))
        pieces = self._part_pieces(chunk)
        return array("i", [index for index, _ in pieces]).tobytes()

    def _chunk_spans(self, chunk):
        """Returns the bytes of int32 `[T, 3]`: id, start and end of each token."""
        parts = self._words.parts(chunk)
        if parts == [chunk]:  # is cached with its spans
            pieces = self._part_pieces(chunk)
        else:
            pieces = []
            for part in parts:
                pieces += self._pieces[part]
        num_letters = sum(size for _, size in pieces)
        sources = range(len(chunk))
        ends = range(1, len(chunk) + 1)
        if not chunk.isascii() or num_letters < len(chunk):
            sources, ends = self._words.sources(chunk)
        spans = array("i")
        letter = 0
        for index, size in pieces:
            start = sources[letter]
            letter += size
            spans.extend((index, start, ends[sources[letter - 1]]))
        return spans.tobytes()

    def _part_pieces(self, part):
        """Returns the tokens of a part of a chunk: `(id, number of letters)`."""
        pieces = []
        for word in self._words.words(part):
            pieces += self._cut(word)
        return pieces

    def _cut(self, word):
        """Cuts a word greedily; returns its pieces like `_part_pieces`."""
        unknown = [(self._unknown, len(word))]
        if len(word) > self._max_word_characters:
            return unknown
        pieces = []
        start = 0
        ids = self._begins
        while start < len(word):
            end = min(len(word), start + self._longest)
            while word[start:end] not in ids:
                end -= 1
                if end == start:
                    return unknown
            pieces.append((ids[word[start:end]], end - start))
            start = end
            ids = self._continues
        return pieces


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


def is_space(text: str) -> np.ndarray:
    """Returns whether each character of a text is white space, bool."""
    return _IS_SPACE[np.minimum(code_points(text), _NO_SPACE)]


def byte_offsets(text: str) -> np.ndarray:
    """Returns the place in UTF-8 of each character of a text and of its end, int64."""
    points = code_points(text)
    is_byte = (points >> 8) == 0xDC  # of bytes that aren't UTF-8
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    sizes[is_byte] = 1
    return np.concatenate([[0], np.cumsum(sizes)])


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    group = []
    num_characters = 0
    for text in texts:
        if num_characters > _CHARACTERS_AT_ONCE:
            yield group
            group = []
            num_characters = 0
        group.append(text)
        num_characters += len(text)
    yield group
