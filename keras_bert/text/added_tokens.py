"""Tokens that were added to a vocabulary: they stay whole, wherever a text has them.

`added` says of each whether it is found in any case. N texts, T tokens.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np


def added_regex(added: Mapping[str, bool]) -> str:
    """Returns a regular expression, for Python and RE2, of the longest added token at a place.

    As in `tokenizers`, those that are found in any case come after the others.
    """
    exact = [[*map(re.escape, token)] for token in added if not added[token]]
    any_case = [[*map(_any_case, token.lower())] for token in added if added[token]]
    return "|".join(_longest(words) for words in (exact, any_case) if words)


def _longest(words, depth=50):
    """Returns a regular expression of the longest word at a place, each a list of letters.

    What many words begin with is looked at once, whatever their number.
    """
    if len(words) < 9 or not depth:
        return "|".join(map("".join, sorted(words, key=len, reverse=True)))
    rests = {}
    for letter, *rest in filter(None, words):
        rests.setdefault(letter, []).append(rest)
    parts = [f"{letter}(?:{_longest(rest, depth - 1)})" for letter, rest in rests.items()]
    return "|".join(parts + [""] * ([] in words))


def _any_case(letter):
    upper = letter.upper()
    if upper == letter or upper.lower() != letter:  # "ß" becomes two
        return re.escape(letter)
    return f"[{letter}{upper}]"


def ids_by_case(
    added: Mapping[str, bool], tokens: Sequence[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the ids of tokens that are found as they are, and of those in any case, lower."""
    exact = {}
    lower = {}
    for index, token in enumerate(tokens):
        if added.get(token):
            lower[token.lower()] = index
        elif token in added:
            exact[token] = index
    return exact, lower


class AddedTokens:
    """Cuts texts at added tokens; `pieces` cuts what is between them."""

    def __init__(self, added: Mapping[str, bool], tokens: Sequence[str], pieces: Any):
        self._pattern = re.compile(f"({added_regex(added)})")
        self._exact, self._lower = ids_by_case(added, tokens)
        self._pieces = pieces

    def ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all tokens, int32 `[T]`, and each text's number, int64 `[N]`."""
        parts = [self._pattern.split(text) for text in texts]
        ids, lengths = self._pieces.ids(_between(parts))
        places, counts = _places(parts, lengths)
        return np.insert(ids, places, self._added_ids(parts)), counts

    def ids_and_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Returns `(ids, starts, ends, lengths)`, offsets in characters, int64 `[T]`."""
        parts = [self._pattern.split(text) for text in texts]
        ids, starts, ends, lengths = self._pieces.ids_and_offsets(_between(parts))
        places, counts = _places(parts, lengths)
        shifts = []
        added_starts = []
        added_ends = []
        for row in parts:
            bounds = [0, *accumulate(map(len, row))]
            shifts += bounds[:-1:2]
            added_starts += bounds[1:-1:2]
            added_ends += bounds[2::2]
        shift = np.repeat(np.array(shifts, "int64"), lengths)
        ids = np.insert(ids, places, self._added_ids(parts))
        starts = np.insert(starts + shift, places, added_starts)
        ends = np.insert(ends + shift, places, added_ends)
        return ids, starts, ends, counts

    def _added_ids(self, parts):
        ids = []
        for row in parts:
            for token in row[1::2]:
                if token in self._exact:
                    ids.append(self._exact[token])
                else:
                    ids.append(self._lower[token.lower()])
        return ids


def _between(parts):
    return list(chain.from_iterable(row[::2] for row in parts))


def _places(parts, lengths):
    """Returns where added tokens go, for the lengths of what is between; and all tokens, `[N]`."""
    ends = np.cumsum(lengths)
    num_added = np.array([len(row) // 2 for row in parts], "int64")
    last = np.cumsum(num_added + 1) - 1  # the part after a text's last added token
    num_between = np.diff(ends[last], prepend=0)
    return np.delete(ends, last), num_between + num_added
