"""Unicode's composed form, NFC, of texts: a letter and its marks become one character.

N texts, T tokens.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any
from unicodedata import combining, normalize

import numpy as np

from keras_bert.text.base_tokenizer import text_begins

_LAST = 0x323B0  # beyond are no characters that compose


class Composed:
    """Composes texts; `pieces` cuts them."""

    def __init__(self, pieces: Any):
        self._pieces = pieces

    @property
    def used(self) -> set[int]:
        return self._pieces.used

    def ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all tokens, int32 `[T]`, and each text's number, int64 `[N]`."""
        return self._pieces.ids(list(map(_composed, texts)))

    def ids_and_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Returns `(ids, starts, ends, lengths)`, offsets in the texts as given, int64 `[T]`."""
        composed = list(map(_composed, texts))
        ids, starts, ends, lengths = self._pieces.ids_and_offsets(composed)
        spans = np.concatenate([np.zeros((0, 2), np.int64), *map(_spans, texts)])
        begins = text_begins(composed, lengths)
        return ids, spans[begins + starts, 0], spans[begins + ends - 1, 1], lengths


def _composed(text):
    return normalize("NFC", text)


def _spans(text):
    """Returns the start and end in a text of each of its C composed characters, `[C, 2]`."""
    bounds = [0]
    if not text.isascii():
        for match in re.finditer(composing_regex(), text):
            bounds += match.span()
    spans = []
    for start, end in pairwise([*bounds, len(text)]):
        run = text[start:end]
        composed = _composed(run)
        if composed == run:
            spans += [(place, place + 1) for place in range(start, end)]
        else:
            spans += [(start, end)] * len(composed)
    return np.array(spans, np.int64).reshape(-1, 2)


@functools.cache
def composing_regex() -> str:
    """Returns a regular expression, for Python and RE2, of characters that may change together."""
    marks, changed = set(), set()
    for character in map(chr, range(_LAST)):
        first, *others = normalize("NFD", character)
        if _composed(character) != character:
            changed.add(character)
        else:
            marks.update(others)
        if combining(first):
            marks.add(character)
    marks = _ranges(marks)
    return f"[^{marks}]?[{marks}]+|[{_ranges(changed)}]"


def _ranges(characters: Iterable[str]) -> str:
    """Returns what stands for characters in the brackets of a regular expression."""
    codes = np.array(sorted(map(ord, characters)))
    groups = np.split(codes, 1 + np.flatnonzero(np.diff(codes) > 1))
    return "".join(f"{chr(group[0])}-{chr(group[-1])}" for group in groups)
