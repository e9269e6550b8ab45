"""Vectors of documents, ready to be searched. Q queries, n and m vectors of width H."""

import math
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.files.new_folder import check_replaces, new_folder
from keras_bert.files.remote import is_remote
from keras_bert.files.whole import recover
from keras_bert.messages import check_all_finite, check_int, check_one_each, check_one_of, shown
from keras_bert.metrics.embeddings import (
    EMBED_AGAIN,
    SIMILARITIES,
    all_similarities,
    comparable,
    similarities,
)

DTYPES = ("float32", "float16", "int8")
_SETTINGS = "index.json"
_VECTORS = "vectors.npy"
_FACTORS = "factors.npy"
_IDS = "ids.npy"
_QUERIES = 256  # of a search at a time, with
_DOCUMENTS = 8192  # of these: products of 8 MiB
_EXACT = 16384  # similarities that are computed one by one at a time
_ROUNDING = 1e-5  # more than the error of a product in float32, for vectors of length 1


class _Part(NamedTuple):
    """Vectors that were added together, or read from one file."""

    vectors: np.ndarray  # [m, H], as stored
    factors: np.ndarray  # float32 [m], what vectors are multiplied with to be compared
    ids: np.ndarray  # int64 [m], -1 for vectors that were removed


class VectorIndex:
    """Vectors of documents, checked and prepared once, to be searched often.

    The search is exact: it compares a query with every vector. `BertEmbedder.index` makes an index
    of texts. Vectors that were loaded from a folder stay on the disk.

    Args:
        vectors: `[n, H]` floats, or None to begin without any. A float32 array isn't copied, so
            don't change it.
        similarity: `"cosine"`, `"dot"`, `"euclidean"` or `"manhattan"`; distances are negated.
        dtype: `"float32"`, `"float16"`, which needs half the memory, or `"int8"`, a quarter. The
            short ones are converted in each search, which takes longer; queries stay float32, so
            nothing needs rescoring. None keeps the float16 of the first vectors, and makes others
            float32.
        ids: ints of at least 0, `[n]`; the numbers from 0 by default.

    Attributes: `similarity`, `dtype`, `width` (H), `ids` and `next_id`, the id that the next vector
    gets by default.

    Raises:
        ValueError: if vectors aren't finite or differ in width, or an id isn't new.

    Example:
    >>> import numpy as np
    >>> from keras_bert import VectorIndex
    >>> index = VectorIndex(np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    >>> ids, cosines = index.search(np.array([[1.0, 0.0]]), top_k=2)
    >>> ids.tolist(), cosines.round(2)
    ([[0, 2]], array([[1.  , 0.71]], dtype=float32))
    >>> index.remove([0])
    >>> index.add([[5.0, 0.0]])
    array([3])
    >>> index
    VectorIndex(3 vectors of 2 float32 values, cosine)
    """

    def __init__(
        self,
        vectors: npt.ArrayLike | None = None,
        similarity: str = "cosine",
        dtype: str | None = None,
        ids: npt.ArrayLike | None = None,
    ):
        check_one_of("similarity", similarity, SIMILARITIES)
        if dtype is not None:
            check_one_of("dtype", dtype, DTYPES)
        self.similarity = similarity
        self.dtype = dtype
        self.width: int | None = None
        self._parts: list[_Part] = []
        self.next_id = 0
        self._longest = 0.0  # the length of the longest vector
        if vectors is not None:
            self.add(vectors, ids)

    @property
    def ids(self) -> np.ndarray:
        """The ids of the vectors, int64 `[n]`, in the order in which they were added."""
        ids = np.concatenate([np.empty(0, "int64"), *(part.ids for part in self._parts)])
        return ids[ids >= 0]

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(part.ids >= 0)) for part in self._parts)

    def __repr__(self) -> str:
        values = f"{self.width} {self.dtype} values"
        return f"VectorIndex({len(self):,} vectors of {values}, {self.similarity})"

    def add(self, vectors: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> np.ndarray:
        """Adds vectors, `[m, H]`; returns their ids, int64 `[m]`, which count on by default."""
        vectors = vector_array(vectors)
        check_equal_width(vectors.shape[1], self.width or vectors.shape[1])
        ids = self._new_ids(len(vectors), ids)
        dtype = self.dtype
        if dtype is None:
            dtype = "float16" if vectors.dtype == "float16" else "float32"
        stored, factors, longest = _stored(vectors, self.similarity, dtype)
        self.width = vectors.shape[1]
        self.dtype = dtype
        self._longest = max(self._longest, longest)
        self.next_id = max(self.next_id, int(ids.max(initial=-1)) + 1)
        self._parts = _joined([*self._parts, _Part(stored, factors, ids)])
        return ids.copy()

    def remove(self, ids: npt.ArrayLike) -> None:
        """Removes vectors by their ids. Their memory is free after `save` and `load`."""
        ids = np.unique(_id_array(ids))
        unknown = ids[~np.isin(ids, self.ids)]
        if unknown.size:
            raise ValueError(f"The index has no vector with the id {unknown[0]}.")
        parts = []
        for part in self._parts:
            remaining = np.where(np.isin(part.ids, ids), -1, part.ids)
            parts.append(part._replace(ids=remaining))
        self._parts = parts  # at once: other threads may search

    def search(self, queries: npt.ArrayLike, top_k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Finds the vectors nearest to each query.

        Args:
            queries: `[Q, H]` or `[H]` floats.
            top_k: int, the number of vectors for each query; all if there are fewer.

        Returns:
            `(ids, similarities)`, int64 and float32 `[Q, top_k]`, the nearest first. Of equal ones,
            the vector that was added first comes first.

        Raises:
            ValueError: if queries aren't finite, or differ in width from the vectors.
        """
        check_int("top_k", top_k)
        queries = vector_array(queries)
        check_all_finite("Vectors", queries, EMBED_AGAIN)
        check_equal_width(queries.shape[1], self.width or queries.shape[1])
        queries = comparable(queries, self.similarity)
        shape = (len(queries), min(top_k, len(self)))
        ids = np.zeros(shape, "int64")
        scores = np.full(shape, -np.inf, "float32")
        if not ids.size:
            return ids, scores
        for block in self._blocks():
            for start in range(0, len(queries), _QUERIES):
                rows = slice(start, start + _QUERIES)
                some = queries[rows]
                roundings = _ROUNDING * self._longest * np.linalg.norm(some, axis=-1)
                _merge(ids[rows], scores[rows], some, roundings, block, self.similarity)
        return ids, scores

    def save(self, folder: str | os.PathLike) -> None:
        """Writes the index to a folder, which it may replace if it holds an index."""
        if not len(self):
            raise ValueError("The index has no vectors to save: first add some.")
        settings = {
            "similarity": self.similarity,
            "next_id": self.next_id,
            "longest": self._longest,
        }
        ids = self.ids
        shape = (len(ids), self.width)
        num_bytes = math.prod(shape) * np.dtype(self.dtype).itemsize
        files = (_SETTINGS, _VECTORS, _FACTORS, _IDS)
        check = partial(check_replaces, folder, own=files, marks=(_SETTINGS,))
        with new_folder(folder, num_bytes, check) as new:
            write_json(new / _SETTINGS, settings)
            np.save(new / _IDS, ids)
            factors = np.lib.format.open_memmap(new / _FACTORS, "w+", "float32", shape[:1])
            vectors = np.lib.format.open_memmap(new / _VECTORS, "w+", self.dtype, shape)
            end = 0
            for block in self._blocks(convert=False):
                remain = block.ids >= 0
                start = end
                end += np.count_nonzero(remain)
                factors[start:end] = block.factors[remain]
                vectors[start:end] = block.vectors[remain]
            factors.flush()
            vectors.flush()

    @classmethod
    def load(cls, folder: str | os.PathLike, in_memory: bool = False) -> Self:
        """Reads an index from a folder; its vectors stay on the disk unless `in_memory` is set.

        Raises:
            ValueError: if the folder holds no index, or a damaged one.
        """
        if is_remote(folder):
            raise ValueError(f"{folder} is remote: copy the folder to this machine.")
        recover(folder)
        folder = Path(folder)
        fields = JsonFields(folder / _SETTINGS)
        if not fields:
            raise ValueError(f"{folder} holds no {_SETTINGS}: it isn't an index that `save` wrote.")
        try:
            vectors = np.load(folder / _VECTORS, mmap_mode=None if in_memory else "r")
            factors = np.load(folder / _FACTORS)
            ids = np.load(folder / _IDS)
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(f"{folder} is a damaged index: {error}") from error
        if vectors.ndim != 2 or not len(vectors) == len(factors) == len(ids):
            raise ValueError(f"{folder} is a damaged index: its files differ in length.")
        index = cls(None, fields.value("similarity"), vectors.dtype.name)
        index.width = vectors.shape[1]
        index._longest = fields.value("longest")
        index.next_id = fields.integer("next_id")
        index._parts = [_Part(vectors, factors, ids)]
        return index

    def _new_ids(self, number, ids):
        if ids is None:
            return np.arange(self.next_id, self.next_id + number)
        ids = _id_array(ids)
        check_one_each(number, "vectors", ids=ids)
        values, counts = np.unique(ids, return_counts=True)
        taken = values[(counts > 1) | np.isin(values, self.ids)]
        if taken.size:
            raise ValueError(f"Each id must be new; {taken[0]} is in the index or comes twice.")
        return ids

    def _blocks(self, convert: bool = True) -> Iterator[_Part]:
        for part in self._parts:
            for start in range(0, len(part.ids), _DOCUMENTS):
                vectors, factors, ids = (array[start : start + _DOCUMENTS] for array in part)
                vectors = np.asarray(vectors, "float32" if convert else None)
                yield _Part(vectors, factors, ids)


def _id_array(ids):
    ids = np.array(ids)
    if not ids.size:
        return ids.astype("int64").ravel()
    most = np.iinfo("int64").max - 1  # the next id is one more
    if ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() > most:
        raise ValueError(f"ids must be ints from 0 to 2**63 - 2; got {shown(ids.tolist())}.")
    return np.atleast_1d(ids).astype("int64")


def _joined(parts):
    """Joins the last parts, so that adding one by one makes few of them, and copies little."""
    while len(parts) > 1 and len(parts[-2].ids) <= len(parts[-1].ids):
        last_two = parts[-2:]
        if any(isinstance(part.vectors, np.memmap) for part in last_two):
            break
        joined = map(np.concatenate, zip(*last_two, strict=True))
        parts = [*parts[:-2], _Part(*joined)]
    return parts


def vector_array(x: Any) -> np.ndarray:
    """Returns vectors as an array of floats, `[n, H]`."""
    try:
        vectors = x if isinstance(x, np.ndarray) else np.asarray(x, "float32")
    except (TypeError, ValueError):  # a dict, or lists of different lengths
        vectors = np.array(0)
    if vectors.ndim == 1:
        vectors = vectors[None]
    if vectors.ndim != 2 or "float" not in vectors.dtype.name or not vectors.shape[1]:
        raise ValueError(
            f"Vectors must be floats [n, H], such as encode_document(texts) gives; got {shown(x)}."
        )
    return vectors


def check_equal_width(one: int, other: int) -> None:
    """Raises a ValueError unless the widths of vectors to compare are equal."""
    if one != other:
        raise ValueError(
            f"The vectors differ in width: {one} and {other}. Embed both with the same model and "
            "truncate_dim."
        )


def _stored(vectors, similarity, dtype):
    """Returns vectors in a dtype, their factors, and the length of the longest."""
    is_kept = vectors.dtype == dtype
    stored = vectors if is_kept else np.empty(vectors.shape, dtype)
    factors = np.ones(len(vectors), "float32")
    longest = 1.0
    for start in range(0, len(vectors), _DOCUMENTS):
        rows = slice(start, start + _DOCUMENTS)
        block = np.asarray(vectors[rows], "float32")
        lengths = _lengths(block, start)
        if not is_kept:
            if similarity == "cosine":
                block = block / lengths[:, None]
            if dtype == "int8":
                peaks = np.maximum(np.abs(block).max(axis=1), 1e-30)
                factors[rows] = peaks / 127
                block = np.rint(block / factors[rows, None])
            with np.errstate(over="ignore"):
                stored[rows] = block
            lengths = _lengths(np.asarray(stored[rows], "float32"), start)
        if similarity == "cosine":
            factors[rows] = 1 / lengths
        else:
            longest = max(longest, float((lengths * factors[rows]).max()))
    return stored, factors, longest


def _lengths(block, start):
    """Returns the lengths of vectors, `[m]`, above 0; they are finite if the vectors are."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
    if not np.isfinite(lengths).all():
        check_all_finite(f"Vectors from row {start}" if start else "Vectors", block, EMBED_AGAIN)
        lengths = np.linalg.norm(block.astype("float64"), axis=1).astype("float32")
    return np.maximum(lengths, 1e-12)


def _merge(ids, scores, queries, roundings, block, similarity):
    """Merges the vectors of a block into the nearest so far, `[Q, top_k]`, in place.

    The last bits of a matrix product depend on the place in the matrix, so it only selects the
    candidates: their similarities are computed again, one by one, and equal vectors have equal
    ones. Blocks come in the order of the vectors, so an equal one in a later block loses.
    """
    num_queries, top_k = scores.shape
    factors = block.factors[:, None]
    if similarity in ("cosine", "dot"):
        products = block.vectors @ queries.T  # [m, Q]
        products *= factors
    else:
        products = all_similarities(queries, block.vectors * factors, similarity).T.copy()
    products[block.ids < 0] = -np.inf
    is_near = products > scores[:, -1] - roundings
    if len(products) > top_k and np.count_nonzero(is_near) > 4 * scores.size:  # at first, or equal
        least = np.partition(products.T.copy(), -top_k, axis=1)[:, -top_k]
        is_near &= products >= least - roundings
    rows, columns = np.divmod(np.flatnonzero(is_near), num_queries)  # np.nonzero takes longer
    if not rows.size:
        return
    all_scores = [scores.ravel()]
    for start in range(0, len(rows), _EXACT):
        some = rows[start : start + _EXACT]
        vectors = block.vectors[some] * factors[some]
        their_queries = queries[columns[start : start + _EXACT]]
        all_scores.append(similarities(vectors, their_queries, similarity))
    all_scores = np.concatenate(all_scores)
    all_ids = np.concatenate([ids.ravel(), block.ids[rows]])
    numbers = np.arange(num_queries)
    query = np.concatenate([np.repeat(numbers, top_k), columns])
    order = np.lexsort((-all_scores, query))  # stable
    starts = np.searchsorted(query[order], numbers)
    best = order[starts[:, None] + np.arange(top_k)]
    ids[:] = all_ids[best]
    scores[:] = all_scores[best]
