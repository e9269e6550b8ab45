"""Cosines of vectors of texts: scores, and search."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite
from keras_bert.metrics.labels import regression_scores

EMBED_AGAIN = "Embed those texts again."
_BLOCK = 1024  # rows of cosines at a time
_QUERIES, _DOCUMENTS = 256, 16384  # of a search at a time: 16 MiB
_ROUNDING = 1e-5  # more than the error of a cosine in float32


def pair_scores(vectors: npt.ArrayLike, y: npt.ArrayLike | None = None) -> dict[str, float]:
    """Scores vectors, `[n, k, H]` of n examples of k texts, or `[n, H]` of texts with classes.

    `y` are scores of pairs, classes, or None: `VectorScorer` says what is counted. Equal vectors
    share the better rank.

    >>> pair_scores(np.array([[[1, 0], [1, 0.1]], [[0, 1], [0.1, 1]]]))
    {'mrr@10': 1.0, 'accuracy': 1.0}
    """
    vectors = unit(vectors)
    if vectors.ndim == 2:
        classes, (best, _) = np.asarray(y).astype(str), nearest(vectors, vectors, 2)
        is_self = best[:, 0] == np.arange(len(best))  # not so if an equal vector comes before
        others = np.where(is_self, best[:, 1], best[:, 0])
        return {"accuracy": float(np.mean(classes[others] == classes))}
    if y is not None:
        return regression_scores(y, np.sum(vectors[:, 0] * vectors[:, 1], axis=-1))
    if vectors.shape[1] > 2:
        cosines = np.einsum("nh,nkh->nk", vectors[:, 0], vectors[:, 1:])
        return {"accuracy": float(np.mean(cosines[:, 0] > cosines[:, 1:].max(axis=1)))}
    ranks = _ranks(vectors[:, 0], vectors[:, 1])
    reciprocal = np.where(ranks <= 10, 1 / ranks, 0)
    return {"mrr@10": float(reciprocal.mean()), "accuracy": float(np.mean(ranks == 1))}


def _ranks(anchors, positives):
    """Ranks each anchor's positive among all positives, from 1."""
    found = []
    for start in range(0, len(anchors), _BLOCK):
        cosines = anchors[start : start + _BLOCK] @ positives.T
        own = cosines[np.arange(len(cosines)), start + np.arange(len(cosines))]
        found.append(1 + np.sum(cosines > own[:, None] + 1e-6, axis=1))
    return np.concatenate(found)


def nearest(queries: npt.ArrayLike, documents: Any, top_k: int) -> tuple[np.ndarray, np.ndarray]:
    """Finds the vectors of `documents` nearest to each of `queries`; see `BertEmbedder.search`."""
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


def unit(vectors: npt.ArrayLike) -> np.ndarray:
    """Scales vectors `[..., H]` to length 1, in float32."""
    vectors = np.asarray(vectors, "float32")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
