"""Similarities of vectors of texts, and scores of them."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.labels import regression_scores

EMBED_AGAIN = "Embed those texts again."
_BLOCK = 1024  # rows of cosines at a time

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
    neighbors = []
    for start in range(0, len(vectors), _BLOCK):
        scores = all_similarities(vectors[start : start + _BLOCK], vectors, similarity)
        np.fill_diagonal(scores[:, start:], -np.inf)  # of a vector and itself
        neighbors.append(scores.argmax(axis=1))
    return float(np.mean(classes[np.concatenate(neighbors)] == classes))


def _ranks(anchors, positives, similarity):
    """Ranks each anchor's positive among all positives, from 1."""
    ranks = []
    for start in range(0, len(anchors), _BLOCK):
        scores = all_similarities(anchors[start : start + _BLOCK], positives, similarity)
        of_positives = scores.diagonal(start)[:, None]
        is_better = scores > of_positives + 1e-6 * np.maximum(1, np.abs(of_positives))
        ranks.append(1 + is_better.sum(axis=1))
    return np.concatenate(ranks)
