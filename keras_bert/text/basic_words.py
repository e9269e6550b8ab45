"""Characters and words of texts as BERT's BasicTokenizer has them.

Source: `tokenization.py` of google-research/bert. It looks at one character at a time, apart from
spaces, the capital sigma, whose lower case depends on its word, and the order of marks.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby

import numpy as np

# BERT deletes these control characters, but `str.split` separates words at them.
_CONTROL_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
# The blocks that tokenization.py calls CJK; each of their characters is a word.
CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


def is_punctuation(character: str) -> bool:
    """Returns whether a character is an ASCII symbol or in Unicode category P."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


def is_cjk(character: str) -> bool:
    """Returns whether BERT puts spaces around a character (`_is_chinese_char`)."""
    return any(first <= ord(character) <= last for first, last in CJK)


def cleaned(character: str, deleted: Collection[str] = ("Cc", "Cf", "Cs")) -> str:
    """Returns "" for a character that is deleted, " " for a space, or the character itself."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    if category in deleted or character == "\ufffd":
        return ""
    return character


def without_accents(character: str) -> str:
    """Decomposes a character of a lower-cased word (NFD) and removes its accents."""
    decomposed = unicodedata.normalize("NFD", character)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def character_ranges(characters: Iterable[str]) -> str:
    """Returns the contents of brackets that match characters, for Python's `re` and RE2."""
    code_points = np.array(sorted(map(ord, characters)))
    ends = np.flatnonzero(np.diff(code_points) > 1) + 1
    ranges = []
    for run in np.split(code_points, ends):
        first = re.escape(chr(run[0]))
        last = re.escape(chr(run[-1]))
        ranges.append(f"{first}-{last}")
    return "".join(ranges)


class Table(dict):
    """A table for `str.translate` that computes the replacement of a character on first use."""

    def __init__(self, replace: Callable[[str], str]):
        super().__init__()
        self._replace = replace

    def __missing__(self, code_point):
        replacement = self._replace(chr(code_point))
        self[code_point] = replacement
        return replacement


class BasicWords:
    """Splits chunks of text, which contain no spaces, into words."""

    def __init__(
        self, lowercase: bool, strip_accents: bool = True, strip_private_use: bool = False
    ):
        self._lowercase = lowercase
        self._strips_accents = lowercase and strip_accents
        self._deleted = ("Cc", "Cf", "Cs", "Co") if strip_private_use else ("Cc", "Cf", "Cs")
        self._cleaned = Table(self._cleaned_and_apart)
        self._folded = Table(_folded)
        self._apart = Table(_apart)
        self._letters = Table(self._letters_of)

    def __call__(self, chunk: str) -> list[str]:
        """Cleans a chunk, and splits it at CJK characters and punctuation."""
        return [word for part in self.parts(chunk) for word in self.words(part)]

    def parts(self, chunk: str) -> list[str]:
        """Deletes invisible characters, and splits a chunk at CJK characters."""
        return chunk.translate(self._cleaned).split()

    def words(self, part: str) -> list[str]:
        """Folds a part and splits it at punctuation."""
        if self._lowercase:
            part = part.lower()
        if not self._strips_accents:
            return part.translate(self._apart).split()
        words = part.translate(self._folded)
        if _has_marks(words):
            words = "".join(letter for letter, _ in _in_canonical_order(part))
            words = words.translate(self._folded)
        return words.split()

    def _cleaned_and_apart(self, character):
        return f" {character} " if is_cjk(character) else cleaned(character, self._deleted)

    def _letters_of(self, character):
        if not cleaned(character, self._deleted):
            return None
        return "".join(self.words(character))

    def sources(self, chunk: str) -> tuple[list[int], list[int]]:
        """Returns the place in a chunk of each letter of its words, and the end of each place.

        The end is the place after a character and the accents that belong to it.
        """
        letters = [self._letters[ord(character)] for character in chunk]
        sources = []
        last = None
        ends = list(range(1, len(chunk) + 1))
        for place, folded in enumerate(letters):
            if folded:
                sources += [place] * len(folded)
                last = place
            elif folded is not None and last is not None:
                ends[last] = place + 1
        if self._strips_accents and _has_marks("".join(filter(None, letters))):
            visible = []
            for character, folded in zip(chunk, letters, strict=True):
                visible.append("" if folded is None else character.lower())
            ordered = _in_canonical_order(visible)
            sources = [place for letter, place in ordered if without_accents(letter)]
        return sources, ends


def chunks(text: str) -> list[str]:
    """Splits a text at its spaces."""
    return plain(text).split()


def plain(text: str) -> str:
    """Replaces the spaces that BERT deletes by another character that it deletes."""
    if not text.isprintable():
        for space in _CONTROL_SPACES:
            text = text.replace(space, "\0")
    return text


def _folded(character):
    return "".join(_apart(letter) for letter in without_accents(character))


def _apart(character):
    return f" {character} " if is_punctuation(character) else character


def _has_marks(text):
    """Returns whether a text without accents has marks that NFD sorts, such as Indic viramas."""
    return not text.isascii() and any(map(unicodedata.combining, text))


def _in_canonical_order(texts: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yields the characters of NFD with the index of their text, in time n log n."""
    letters = []
    for index, text in enumerate(texts):
        letters += [(letter, index) for letter in unicodedata.normalize("NFD", text)]

    def order(pair):
        return unicodedata.combining(pair[0])

    for _, run in groupby(letters, lambda pair: order(pair) > 0):
        yield from sorted(run, key=order)
