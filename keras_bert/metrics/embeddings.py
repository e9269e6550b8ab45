"""Scores of vectors of texts."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.labels import regression_scores

_BLOCK = 1024  # rows of cosines at a time


def pair_scores(vectors: npt.ArrayLike, y: npt.ArrayLike | None = None) -> dict[str, float]:
    """Scores vectors by scores of pairs, by positives and negatives, or by classes.

    Args:
        vectors: `[n, k, H]`, the vectors of n examples of k texts; or `[n, H]` with classes.
        y: `[n]` scores of pairs, or classes; or None.

    Returns:
        A dict of floats. With scores, those of `regression_scores` of the cosines. For pairs,
        `mrr@10` and `accuracy` of finding an anchor's positive among all positives; equal vectors
        share the better rank. For more texts, `accuracy`: the share of examples whose positive is
        nearer to the anchor than all negatives. With classes, `accuracy`: the share of vectors
        whose nearest other one has the same class.

    Example:
    >>> import numpy as np
    >>> pair_scores(np.array([[[1, 0], [1, 0.1]], [[0, 1], [0.1, 1]]]))
    {'mrr@10': 1.0, 'accuracy': 1.0}
    """
    vectors = np.asarray(vectors, "float32")
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    if vectors.ndim == 2:
        return {"accuracy": _nearest_accuracy(vectors, np.asarray(y).astype(str))}
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


def _nearest_accuracy(vectors, classes):
    right = 0
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        right += int(np.sum(classes[cosines.argmax(axis=1)] == classes[start + rows]))
    return right / len(vectors)
