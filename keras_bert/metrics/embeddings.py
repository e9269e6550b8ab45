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
        return {"accuracy": _nearest_neighbor_accuracy(vectors, np.asarray(y).astype(str))}
    anchors = vectors[:, 0]
    if y is not None:
        return regression_scores(y, np.sum(anchors * vectors[:, 1], axis=-1))
    if vectors.shape[1] > 2:
        cosines = np.einsum("nh,nkh->nk", anchors, vectors[:, 1:])
        is_nearest = cosines[:, 0] > cosines[:, 1:].max(axis=1)
        return {"accuracy": float(is_nearest.mean())}
    ranks = _ranks(anchors, vectors[:, 1])
    reciprocal = np.where(ranks <= 10, 1 / ranks, 0)
    return {"mrr@10": float(reciprocal.mean()), "accuracy": float(np.mean(ranks == 1))}


def _nearest_neighbor_accuracy(vectors, classes):
    nearest_two, _ = nearest(vectors, vectors, 2)
    first, second = nearest_two.T
    is_self = first == np.arange(len(first))  # False after an equal vector
    neighbors = np.where(is_self, second, first)
    return float(np.mean(classes[neighbors] == classes))


def _ranks(anchors, positives):
    """Ranks each anchor's positive among all positives, from 1."""
    ranks = []
    for start in range(0, len(anchors), _BLOCK):
        cosines = anchors[start : start + _BLOCK] @ positives.T
        of_positives = cosines.diagonal(start)[:, None]
        is_better = cosines > of_positives + 1e-6
        ranks.append(1 + is_better.sum(axis=1))
    return np.concatenate(ranks)


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

    The last bits of a matrix product depend on the position in the matrix, so it only selects the
    candidates: their cosines are computed again, one by one, and equal documents have equal ones.
    Blocks come in the order of the documents, so an equal cosine in a later one loses.
    """
    top_k = indices.shape[1]
    products = queries @ block.T
    for query in range(len(queries)):
        row = products[query]
        candidates = np.flatnonzero(row > cosines[query, -1] - _ROUNDING)
        if candidates.size > 2 * top_k:
            least = np.partition(row[candidates], -top_k)[-top_k]
            candidates = candidates[row[candidates] >= least - _ROUNDING]
        if candidates.size:
            exact = np.sum(block[candidates] * queries[query], axis=-1)
            all_cosines = np.append(cosines[query], exact)
            all_indices = np.append(indices[query], start + candidates)
            order = np.argsort(-all_cosines, kind="stable")[:top_k]
            cosines[query] = all_cosines[order]
            indices[query] = all_indices[order]


def unit(vectors: npt.ArrayLike) -> np.ndarray:
    """Scales vectors `[..., H]` to length 1, in float32."""
    vectors = np.asarray(vectors, "float32")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
