"""Tokens that were added to a vocabulary: they stay whole, wherever a text has them.

`added` says of each whether it is found in any case. N texts, T tokens.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np


def added_regex(added: Mapping[str, bool]) -> str:
    """Returns a regular expression, for Python and RE2, of the longest added token at a place.

    As in `tokenizers`, those that are found in any case come after the others.
    """
    ordered = sorted(added, key=lambda token: (added[token], -len(token), token))
    return "|".join(_any_case(token) if added[token] else re.escape(token) for token in ordered)


def ids_by_case(
    added: Mapping[str, bool], ids: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the ids of tokens that are found as they are, and of those in any case, lower."""
    exact = {token: ids[token] for token in added if not added[token]}
    return exact, {token.lower(): ids[token] for token in added if added[token]}


class AddedTokens:
    """Cuts texts at added tokens; `pieces` cuts what is between them."""

    def __init__(self, added: Mapping[str, bool], ids: Mapping[str, int], pieces: Any):
        self._pattern = re.compile(f"({added_regex(added)})")
        self._pieces = pieces
        self._exact, self._lower = ids_by_case(added, ids)

    @property
    def used(self) -> set[int]:
        return self._pieces.used

    def ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all tokens, int32 `[T]`, and each text's number, int64 `[N]`."""
        parts = list(map(self._pattern.split, texts))
        ids, lengths = self._pieces.ids(_between(parts))
        places, counts = _places(parts, lengths)
        return np.insert(ids, places, self._ids_of(parts)), counts

    def ids_and_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Returns `(ids, starts, ends, lengths)`, offsets in characters, int64 `[T]`."""
        parts = list(map(self._pattern.split, texts))
        ids, starts, ends, lengths = self._pieces.ids_and_offsets(_between(parts))
        places, counts = _places(parts, lengths)
        bounds = [np.cumsum([0, *map(len, part)]) for part in parts]
        shift = np.repeat(_joined(bound[:-1:2] for bound in bounds), lengths)
        starts = np.insert(starts + shift, places, _joined(bound[1:-1:2] for bound in bounds))
        ends = np.insert(ends + shift, places, _joined(bound[2::2] for bound in bounds))
        return np.insert(ids, places, self._ids_of(parts)), starts, ends, counts

    def _ids_of(self, parts):
        tokens = chain.from_iterable(part[1::2] for part in parts)
        return [self._exact.get(token, self._lower.get(token.lower())) for token in tokens]


def _any_case(token):
    return "".join(map(_letter, token.lower()))


def _letter(letter):
    upper = letter.upper()
    if upper == letter or upper.lower() != letter:  # "ß" becomes two
        return re.escape(letter)
    return f"[{letter}{upper}]"


def _between(parts):
    return list(chain.from_iterable(part[::2] for part in parts))


def _places(parts, lengths):
    """Returns where added tokens go, for the lengths of what is between; and all tokens, `[N]`."""
    ends = np.cumsum(lengths)
    last = np.cumsum([len(part[::2]) for part in parts], dtype="int64") - 1
    num_added = [len(part) // 2 for part in parts]
    return np.delete(ends, last), np.diff(ends[last], prepend=0) + np.array(num_added, "int64")


def _joined(arrays):
    return np.concatenate([np.zeros(0, "int64"), *arrays])
