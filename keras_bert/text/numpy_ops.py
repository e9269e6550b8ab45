"""Functions of NumPy arrays under the names that `graph/graph_ops.py` has for TensorFlow's tensors.

Rows, windows and answers are computed by code that takes either of the two modules as `ops`, so
that each rule exists once. Functions are called as in NumPy, else as in TensorFlow or keras.ops.
Integers are int64 there, until a model gets them as int32.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence

import numpy as np

from keras_bert.text import wordpieces

# Arrays

arange = functools.partial(np.arange, dtype="int64")
array = np.asarray
cast = np.ndarray.astype
concat = np.concatenate
full = np.full
num_rows = len
repeat = np.repeat
reshape = np.reshape
stack = np.stack
strings = functools.partial(np.array, dtype=object)


def num_columns(values: np.ndarray) -> int:
    return values.shape[1]


def from_row_lengths(values: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Splits values into rows of these lengths."""
    bounds = [0, *np.cumsum(lengths).tolist()]  # np.split takes much longer
    return [values[start:end] for start, end in itertools.pairwise(bounds)]


def map_blocks(
    function: Callable,
    count: int,
    size: int,
    specs: dict,
) -> dict[str, np.ndarray]:
    """Computes `function(indices)`, a dict of arrays, for 0, 1, ... `count` in blocks of `size`."""
    blocks = []
    for start in range(0, count, size):
        indices = np.arange(start, min(start + size, count))
        blocks.append(function(indices))
    columns = {}
    for name in specs:
        columns[name] = np.concatenate([block[name] for block in blocks])
    return columns


# Elementwise

exp = np.exp
log = np.log
maximum = np.maximum
minimum = np.minimum
where = np.where


def sigmoid(values: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1, small) / (1 + small)


# Rows, and whole arrays

argmax = np.argmax
cumsum = np.cumsum
searchsorted = np.searchsorted
row_sums = functools.partial(np.sum, axis=-1, dtype="int64")


def max_or_zero(values: np.ndarray) -> int:
    """Returns the largest of int64 values, 0 if there are none."""
    return int(values.max(initial=0))


def softmax(values: np.ndarray) -> np.ndarray:
    exponentials = np.exp(values - values.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def logsumexp(values: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the sum of exponentials over the last axis."""
    largest = values.max(axis=-1)
    exponentials = np.exp(values - largest[..., None])
    return largest + np.log(exponentials.sum(axis=-1))


def top_k(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the largest values of each row and their columns; of equal ones, the first."""
    if count == 1:
        columns = values.argmax(axis=1)[:, None]
        return take_along_axis(values, columns), columns
    columns = np.zeros((len(values), count), "int64")
    last = count - 1
    least = -np.partition(-values, last, axis=1)[:, last]
    for index, row in enumerate(values):
        candidates = np.flatnonzero(row >= least[index])
        order = np.argsort(-row[candidates], kind="stable")
        columns[index] = candidates[order][:count]
    return take_along_axis(values, columns), columns


# Indexing

flatnonzero = np.flatnonzero
take = operator.getitem
take_along_axis = functools.partial(np.take_along_axis, axis=1)
take_columns = functools.partial(np.take, axis=1)  # `[N, S]` and `[...]` give `[N, ...]`


def gather_nd(
    values: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
) -> np.ndarray:
    """Takes `values[rows[k], columns[k]]`."""
    return values[rows, columns]


def scatter_update(
    values: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
) -> np.ndarray:
    values = values.copy()
    values[indices] = updates
    return values


def smallest_at_least(lengths: Sequence[int], limit: int) -> int:
    """Returns the smallest of sorted lengths that is at least a limit."""
    return int(lengths[np.searchsorted(lengths, limit)])


def unique_indices(values: np.ndarray) -> np.ndarray:
    """Numbers distinct values 0, 1, ... in the order in which they first occur, int32."""
    _, first, of_sorted = np.unique(values, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first)).astype("int32")
    return rank[of_sorted].reshape(values.shape)


# Segments; values of segment -1 are left out


def _reduced(function, values, segments, count):
    start = 0
    if function is not np.add:  # sums may be of bfloat16, whose limits NumPy doesn't know
        limits_of = np.finfo if values.dtype.kind == "f" else np.iinfo
        limits = limits_of(values.dtype)
        start = limits.min if function is np.maximum else limits.max
    inner = values.shape[segments.ndim :]
    results = np.full((count, *inner), start, values.dtype)
    is_in = segments >= 0
    function.at(results, segments[is_in], values[is_in])
    return results


segment_max = functools.partial(_reduced, np.maximum)
segment_min = functools.partial(_reduced, np.minimum)
segment_sum = functools.partial(_reduced, np.add)


def segment_mean(
    values: np.ndarray,
    segments: np.ndarray,
    count: int,
) -> np.ndarray:
    """Returns the mean of each segment; none is empty."""
    sums = segment_sum(values, segments, count)
    sizes = np.bincount(segments, minlength=count).astype(values.dtype)
    return (sums.T / sizes).T


# Strings


def classify_strings(values: np.ndarray, kind: Callable[[str], int]) -> np.ndarray:
    return np.array([kind(value) for value in values], "int64")


def substrings(
    texts: list[str],
    rows: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray:
    """Cuts spans of characters out of texts."""
    spans = np.stack([rows, starts, ends], axis=1).tolist()
    return strings([texts[row][start:end] for row, start, end in spans])


def text_spans(
    texts: list[str],
    rows: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> dict[str, np.ndarray]:
    """Returns spans in characters, `start` and `end`, and in bytes of UTF-8."""
    sizes = [len(text) for text in texts]
    begins = np.cumsum([0, *sizes])[rows]
    offsets = wordpieces.byte_offsets("".join(texts))
    return {
        "start": starts,
        "end": ends,
        "start_byte": offsets[begins + starts] - offsets[begins],
        "end_byte": offsets[begins + ends] - offsets[begins],
    }
