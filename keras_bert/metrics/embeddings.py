"""Similarities of vectors of texts, and scores of them."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.labels import regression_scores

EMBED_AGAIN = "Embed those texts again."
_BLOCK = 1024  # vectors that are compared with all others at a time

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""The names of similarities in sentence-transformers; distances are negated, as there."""


def comparable(vectors: npt.ArrayLike, similarity: str) -> np.ndarray:
    """Returns vectors as float32, `[..., H]`, and scaled to length 1 for cosines."""
    vectors = np.asarray(vectors, "float32")
    if similarity == "cosine":
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return vectors / np.maximum(lengths, 1e-12)
    return vectors


def similarities(a: np.ndarray, b: np.ndarray, similarity: str) -> np.ndarray:
    """Computes the similarity of `comparable` vectors, `[..., H]`, along the last axis."""
    if similarity == "euclidean":
        return -np.linalg.norm(a - b, axis=-1)
    if similarity == "manhattan":
        return -np.abs(a - b).sum(axis=-1)
    return np.sum(a * b, axis=-1)


def all_similarities(a: np.ndarray, b: np.ndarray, similarity: str) -> np.ndarray:
    """Compares each of n `comparable` vectors with each of m others, `[n, m]`."""
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
        is_right = classes[_nearest(vectors, similarity)] == classes
        return {"accuracy": float(is_right.mean())}
    scores = similarities(vectors[:, :1], vectors[:, 1:], similarity)  # [n, k - 1], of anchors
    if y is not None:
        return regression_scores(y, scores[:, 0])
    if vectors.shape[1] > 2:
        is_nearest = scores[:, 0] > scores[:, 1:].max(axis=1)
        return {"accuracy": float(is_nearest.mean())}
    anchors = vectors[:, 0]
    positives = vectors[:, 1]
    ranks = _ranks(anchors, positives, similarity)
    is_first = ranks == 1
    reciprocal = np.where(ranks <= 10, 1 / ranks, 0)
    return {"mrr@10": float(reciprocal.mean()), "accuracy": float(is_first.mean())}


def _nearest(vectors, similarity):
    """Returns the row of the vector that is nearest to each one."""
    rows = []
    for start, scores in _blocks(vectors, vectors, similarity):
        np.fill_diagonal(scores[:, start:], -np.inf)  # a vector with itself
        rows.append(scores.argmax(axis=1))
    return np.concatenate(rows)


def _ranks(anchors, positives, similarity):
    """Ranks each anchor's positive among all positives, from 1."""
    ranks = []
    for start, scores in _blocks(anchors, positives, similarity):
        of_positives = scores.diagonal(start)[:, None]
        tolerance = 1e-6 * np.maximum(1, np.abs(of_positives))
        is_better = scores > of_positives + tolerance
        ranks.append(1 + is_better.sum(axis=1))
    return np.concatenate(ranks)


def _blocks(a, b, similarity):
    """Yields similarities of some vectors of `a` with all of `b`, and the first one's row."""
    for start in range(0, len(a), _BLOCK):
        block = a[start : start + _BLOCK]
        yield start, all_similarities(block, b, similarity)
