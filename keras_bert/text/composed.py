"""Unicode's composed form, NFC, of texts: a letter and its marks become one character.

N texts, T tokens.
"""

import functools
import re
from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any
from unicodedata import combining, normalize

import numpy as np

from keras_bert.text import numpy_ops
from keras_bert.text.base_tokenizer import text_begins
from keras_bert.text.basic_words import character_ranges

_LAST = 0x323B0  # beyond are no characters that compose


class Composed:
    """Composes texts; `pieces` cuts them."""

    def __init__(self, pieces: Any):
        self._pieces = pieces
        self.used = pieces.used

    def ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all tokens, int32 `[T]`, and each text's number, int64 `[N]`."""
        return self._pieces.ids(list(map(_composed, texts)))

    def ids_and_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Returns `(ids, starts, ends, lengths)`, offsets in the texts as given, int64 `[T]`."""
        composed = list(map(_composed, texts))
        ids, starts, ends, lengths = self._pieces.ids_and_offsets(composed)
        begins = text_begins(composed, lengths)
        runs = [run for text in texts for run in _runs(text)]
        runs = np.array(runs, np.int64).reshape(-1, 4).T
        starts = sources(numpy_ops, runs, begins + starts, "right")
        ends = sources(numpy_ops, runs, begins + ends, "left")
        return ids, starts, ends, lengths


def sources(ops: ModuleType, runs: Sequence[Any], places: Any, side: str) -> Any:
    """Returns where texts as given have the starts or ends of characters of composed ones.

    Args:
        ops: `numpy_ops`, or `graph_ops` for tensors and bytes.
        runs: int64 arrays `[R]`, of the runs of all texts: their sizes when composed, their starts
            and ends in their texts as given, and 1 if composing doesn't change them.
        places: int64 `[T]`, in all composed texts together.
        side: `"right"` for starts, `"left"` for ends.
    """
    sizes, starts, ends, is_same = runs
    run_ends = ops.cumsum(sizes)
    run = ops.searchsorted(run_ends, places, side=side)
    moved = places - ops.take(run_ends - sizes - starts, run)
    bounds = ops.take(starts if side == "right" else ends, run)
    return ops.where(ops.take(is_same, run) == 1, moved, bounds)


def _composed(text):
    return normalize("NFC", text)


def _runs(text):
    """Yields the values of a text's runs that `sources` takes."""
    bounds = [0]
    for match in re.finditer(composing_regex(), text):
        bounds += match.span()
    for start, end in pairwise([*bounds, len(text)]):
        run = text[start:end]
        composed = _composed(run)
        yield len(composed), start, end, composed == run


@functools.cache
def composing_regex() -> str:
    """Returns a regular expression, for Python and RE2, of characters that may change together."""
    marks = set()
    changed = set()
    for character in map(chr, range(_LAST)):
        first, *others = normalize("NFD", character)
        if _composed(character) != character:
            changed.add(character)
        else:
            marks.update(others)
        if combining(first):
            marks.add(character)
    marks = character_ranges(marks)
    return f"[^{marks}]?[{marks}]+|[{character_ranges(changed)}]"
