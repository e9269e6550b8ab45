"""Arrays of the rows of packages for subwords. N texts, T tokens of all texts."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.text.base_tokenizer import text_begins

_SURROGATES = re.compile("[\ud800-\udfff]")  # of bytes that aren't UTF-8


def without_surrogates(texts: Sequence[str]) -> list[str]:
    """Replaces bytes that aren't UTF-8 with a character that no vocabulary has."""
    return [text if text.isascii() else _SURROGATES.sub("\ue000", text) for text in texts]


def flat_rows(rows: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Joins rows of ids; returns int32 `[T]`, and their lengths, int64 `[N]`."""
    lengths = np.array([len(row) for row in rows], "int64")
    arrays = [np.asarray(row, "int32") for row in rows]
    return np.concatenate([np.zeros(0, "int32"), *arrays]), lengths


def flat_spans(
    texts: Sequence[str],
    rows: Sequence[Any],
    lengths: np.ndarray,
    spaces: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns where tokens start and end, int64 `[T]`, without the `spaces` at both ends.

    `rows` are lists of `(start, end)`. `spaces` is a regular expression for one character. A token
    of spaces only is empty, and at its end.
    """
    begins = text_begins(texts, lengths)
    spans = np.array([span for row in rows for span in row], "int64")
    starts, ends = spans.reshape(-1, 2).T + begins
    text = "".join(texts)
    space_places = [match.start() for match in re.finditer(spaces, text)]
    letters = np.delete(np.arange(len(text) + 1), space_places)
    starts = np.minimum(letters[np.searchsorted(letters, starts)], ends)
    before = np.searchsorted(letters, ends) - 1
    ends_of_letters = np.where(before < 0, 0, letters[before] + 1)
    return starts - begins, np.maximum(ends_of_letters, starts) - begins
