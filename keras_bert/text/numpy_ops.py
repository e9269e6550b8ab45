"""Functions of NumPy arrays under the names that `graph/graph_ops.py` has for TensorFlow's tensors.

Rows, windows and answers are computed by code that takes either of the two modules as `ops`, so
that each rule exists once. Integers are int64 there, until a model gets them as int32.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from keras_bert.text import wordpieces

arange = functools.partial(np.arange, dtype="int64")
argmax = np.argmax
array = np.asarray
cast = np.ndarray.astype
concat = np.concatenate
cumsum = np.cumsum
exp = np.exp
flatnonzero = np.flatnonzero
full = np.full
log = np.log
maximum = np.maximum
minimum = np.minimum
nonzero = np.nonzero
repeat = np.repeat
reshape = np.reshape
row_sums = functools.partial(np.sum, axis=1, dtype="int64")
sigmoid = special.expit
size = len
softmax = functools.partial(special.softmax, axis=-1)
stack = np.stack
strings = functools.partial(np.array, dtype=object)
take = operator.getitem
take_columns = functools.partial(np.take, axis=1)  # `[N, S]` and `[...]` give `[N, ...]`
take_each = functools.partial(np.take_along_axis, axis=1)
where = np.where


def cut(texts: list[str], rows: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Cuts spans of characters out of texts."""
    spans = zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)
    return strings([texts[row][start:end] for row, start, end in spans])


def located(
    texts: list[str], rows: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns spans in characters, `start` and `end`, and in bytes of UTF-8."""
    found = {"start": starts, "end": ends, "start_byte": starts.copy(), "end_byte": ends.copy()}
    for row in np.unique(rows):
        if not texts[row].isascii():
            before = wordpieces.byte_places(texts[row])
            for name in ("start", "end"):
                found[f"{name}_byte"][rows == row] = before[found[name][rows == row]]
    return found


def ragged(values: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Cuts values into rows of these lengths."""
    ends = np.cumsum(lengths).tolist()  # np.split takes much longer
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def renumbered(numbers: np.ndarray) -> np.ndarray:
    """Numbers distinct values 0, 1, ... in the order of their first places, int32."""
    _, first, of_sorted = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[of_sorted].reshape(numbers.shape).astype("int32")


def replaced(values: np.ndarray, places: np.ndarray, new: np.ndarray) -> np.ndarray:
    values = values.copy()
    values[places] = new
    return values


def width(values: np.ndarray) -> int:
    return values.shape[1]


def kinds_of_strings(values: np.ndarray, kind: Callable[[str], int]) -> np.ndarray:
    return np.array([kind(value) for value in values], "int64")


def maximum_of(values: np.ndarray) -> int:
    """Returns the largest of int64 values, 0 if there are none."""
    return int(values.max(initial=0))


def smallest_of(lengths: Sequence[int], at_least: int) -> int:
    """Returns the smallest of sorted lengths that is at least as large as a number."""
    return int(lengths[np.searchsorted(lengths, at_least)])


def take_at(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Takes `values[rows[k], columns[k]]`."""
    return values[rows, columns]


def put(shape: Sequence[int], places: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Makes an array of zeros with values at places, which are the indices of each axis."""
    array = np.zeros((*shape, *values.shape[1:]), values.dtype)
    array[tuple(places)] = values
    return array


def segment_max(values: np.ndarray, segments: np.ndarray, count: int) -> np.ndarray:
    return _segments(np.maximum, values, segments, count, _limits(values).min)


def segment_min(values: np.ndarray, segments: np.ndarray, count: int) -> np.ndarray:
    return _segments(np.minimum, values, segments, count, _limits(values).max)


def segment_sum(values: np.ndarray, segments: np.ndarray, count: int) -> np.ndarray:
    return _segments(np.add, values, segments, count, 0)


def _segments(function, values, segments, count, start):
    """Reduces the values of each segment; values of segment -1 are left out."""
    found = np.full((count, *values.shape[segments.ndim :]), start, values.dtype)
    is_in = segments >= 0
    function.at(found, segments[is_in], values[is_in])
    return found


def _limits(values):
    return (np.finfo if values.dtype.kind == "f" else np.iinfo)(values.dtype)


def logsumexp(values: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the sum of exponentials over the last axis."""
    largest = values.max(axis=-1)
    return largest + np.log(np.exp(values - largest[..., None]).sum(axis=-1))


def segment_mean(values: np.ndarray, segments: np.ndarray, count: int) -> np.ndarray:
    """Returns the mean of each segment; none is empty."""
    sizes = np.bincount(segments, minlength=count).reshape(-1, *[1] * (values.ndim - 1))
    return segment_sum(values, segments, count) / sizes.astype(values.dtype)


def top_k(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the largest values of each row and their places; of equal ones, the first."""
    if count == 1:
        places = values.argmax(axis=1)[:, None]
    else:
        least = -np.partition(-values, count - 1, axis=1)[:, count - 1]
        found = [np.flatnonzero(row >= low) for row, low in zip(values, least, strict=True)]
        pairs = zip(found, values, strict=True)
        found = [places[np.argsort(-row[places], kind="stable")][:count] for places, row in pairs]
        places = np.array(found, "int64").reshape(len(values), count)
    return take_each(values, places), places


def in_blocks(function: Callable, count: int, size: int, kinds: dict) -> dict[str, np.ndarray]:
    """Computes `function(numbers)`, a dict of arrays, for 0, 1, ... `count` in blocks of `size`."""
    blocks = [
        function(np.arange(start, min(start + size, count))) for start in range(0, count, size)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in kinds}
