"""Similarities of vectors of texts: scores, and search."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite
from keras_bert.metrics.labels import regression_scores

EMBED_AGAIN = "Embed those texts again."
_BLOCK = 1024  # rows of cosines at a time
_QUERIES, _DOCUMENTS = 256, 16384  # of a search at a time: 16 MiB
_ROUNDING = 1e-5  # more than the error of a cosine in float32

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""The names of similarities in sentence-transformers; distances are negated, as there."""


def comparable(vectors: npt.ArrayLike, similarity: str) -> np.ndarray:
    """Returns vectors as float32, `[..., H]`; those that cosines compare have length 1."""
    vectors = np.asarray(vectors, "float32")
    if similarity != "cosine":
        return vectors
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def similarities(a: np.ndarray, b: np.ndarray, similarity: str) -> np.ndarray:
    """Computes the similarity of `comparable` vectors, `[..., H]`, along the last axis."""
    if similarity == "euclidean":
        return -np.linalg.norm(a - b, axis=-1)
    if similarity == "manhattan":
        return -np.abs(a - b).sum(axis=-1)
    return np.sum(a * b, axis=-1)


def all_similarities(a: np.ndarray, b: np.ndarray, similarity: str) -> np.ndarray:
    """Computes the similarity of each of n `comparable` vectors with each of m, `[n, m]`."""
    if similarity in ("cosine", "dot"):
        return a @ b.T
    return np.stack([similarities(row, b, similarity) for row in a])


def pair_scores(
    vectors: npt.ArrayLike, y: npt.ArrayLike | None = None, similarity: str = "cosine"
) -> dict[str, float]:
    """Scores vectors, `[n, k, H]` of n examples of k texts, or `[n, H]` of texts with classes.

    `y` are scores of pairs, classes, or None: `VectorScorer` says what is counted. Equal vectors
    share the better rank.

    >>> pair_scores(np.array([[[1, 0], [1, 0.1]], [[0, 1], [0.1, 1]]]))
    {'mrr@10': 1.0, 'accuracy': 1.0}
    """
    vectors = comparable(vectors, similarity)
    if vectors.ndim == 2:
        classes = np.asarray(y).astype(str)
        return {"accuracy": _nearest_neighbor_accuracy(vectors, classes, similarity)}
    anchors, others = vectors[:, :1], vectors[:, 1:]
    scores = similarities(anchors, others, similarity)  # [n, k - 1]
    if y is not None:
        return regression_scores(y, scores[:, 0])
    if scores.shape[1] > 1:
        is_nearest = scores[:, 0] > scores[:, 1:].max(axis=1)
        return {"accuracy": float(is_nearest.mean())}
    ranks = _ranks(anchors[:, 0], others[:, 0], similarity)
    reciprocal = np.where(ranks <= 10, 1 / ranks, 0)
    return {"mrr@10": float(reciprocal.mean()), "accuracy": float(np.mean(ranks == 1))}


def _nearest_neighbor_accuracy(vectors, classes, similarity):
    nearest_two, _ = nearest(vectors, vectors, 2, similarity)
    first, second = nearest_two.T
    is_self = first == np.arange(len(first))  # False after an equal vector
    neighbors = np.where(is_self, second, first)
    return float(np.mean(classes[neighbors] == classes))


def _ranks(anchors, positives, similarity):
    """Ranks each anchor's positive among all positives, from 1."""
    ranks = []
    for start in range(0, len(anchors), _BLOCK):
        scores = all_similarities(anchors[start : start + _BLOCK], positives, similarity)
        of_positives = scores.diagonal(start)[:, None]
        is_better = scores > of_positives + 1e-6 * np.maximum(1, np.abs(of_positives))
        ranks.append(1 + is_better.sum(axis=1))
    return np.concatenate(ranks)


def nearest(
    queries: npt.ArrayLike, documents: Any, top_k: int, similarity: str = "cosine"
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the vectors of `documents` nearest to each of `queries`; see `BertEmbedder.search`."""
    queries = comparable(queries, similarity)
    indices = np.zeros((len(queries), top_k), "int64")
    scores = np.full((len(queries), top_k), -np.inf, "float32")
    for start in range(0, len(documents), _DOCUMENTS):
        block = np.asarray(documents[start : start + _DOCUMENTS], "float32")
        check_all_finite(f"Vectors from row {start}" if start else "Vectors", block, EMBED_AGAIN)
        block = comparable(block, similarity)
        for first in range(0, len(queries), _QUERIES):
            rows = slice(first, first + _QUERIES)
            _merge(indices[rows], scores[rows], queries[rows], block, start, similarity)
    return indices, scores


def _merge(indices, scores, queries, block, start, similarity):
    """Merges the scores of a block of documents, `[block, H]`, into the best so far, in place.

    The last bits of a matrix product depend on the position in the matrix, so it only selects the
    candidates: their scores are computed again, one by one, and equal documents have equal ones.
    Blocks come in the order of the documents, so an equal score in a later one loses.
    """
    top_k = indices.shape[1]
    products = all_similarities(queries, block, similarity)
    longest = np.linalg.norm(block, axis=-1).max()
    for query in range(len(queries)):
        row = products[query]
        rounding = _ROUNDING * longest * np.linalg.norm(queries[query])
        candidates = np.flatnonzero(row > scores[query, -1] - rounding)
        if candidates.size > 2 * top_k:
            least = np.partition(row[candidates], -top_k)[-top_k]
            candidates = candidates[row[candidates] >= least - rounding]
        if candidates.size:
            exact = similarities(block[candidates], queries[query], similarity)
            all_scores = np.append(scores[query], exact)
            all_indices = np.append(indices[query], start + candidates)
            order = np.argsort(-all_scores, kind="stable")[:top_k]
            scores[query] = all_scores[order]
            indices[query] = all_indices[order]
