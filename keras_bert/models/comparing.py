"""Cosines of vectors, and search among them."""

import numpy as np

from keras_bert.messages import check_all_finite

EMBED_AGAIN = "Embed those texts again."
_QUERIES, _DOCUMENTS = 256, 16384  # cosines at a time: 16 MiB
_ROUNDING = 1e-5  # more than the error of a cosine in float32


def nearest(queries, documents, top_k):
    """Finds the `top_k` vectors of `documents` nearest to each of `queries`; see `search`."""
    queries = unit(queries)
    indices = np.zeros((len(queries), top_k), "int64")
    cosines = np.full((len(queries), top_k), -np.inf, "float32")
    for start in range(0, len(documents), _DOCUMENTS):
        block = np.asarray(documents[start : start + _DOCUMENTS], "float32")
        check_all_finite(f"Vectors from row {start}" if start else "Vectors", block, EMBED_AGAIN)
        block = unit(block)
        for first in range(0, len(queries), _QUERIES):
            rows = slice(first, first + _QUERIES)
            _merge(indices[rows], cosines[rows], queries[rows], block, start)
    return indices, cosines


def _merge(indices, cosines, queries, block, start):
    """Merges the cosines of a block of documents, `[block, H]`, into the best so far, in place.

    The last bits of a matrix product depend on the place in the matrix, so it only selects the
    candidates: their cosines are computed again, one by one, and equal documents have equal ones.
    Blocks come in the order of the documents, so an equal cosine in a later one loses.
    """
    rows = zip(indices, cosines, queries, queries @ block.T, strict=True)
    for best, of_best, query, row in rows:
        hits = np.flatnonzero(row > of_best[-1] - _ROUNDING)
        if hits.size > 2 * len(best):
            least = np.partition(row[hits], -len(best))[-len(best)]
            hits = hits[row[hits] >= least - _ROUNDING]
        if hits.size:
            places = np.concatenate([best, start + hits])
            values = np.concatenate([of_best, np.sum(block[hits] * query, axis=-1)])
            order = np.argsort(-values, kind="stable")[: len(best)]
            best[:], of_best[:] = places[order], values[order]


def unit(vectors):
    """Scales vectors `[n, H]` to length 1, in float32."""
    vectors = np.asarray(vectors, "float32")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
