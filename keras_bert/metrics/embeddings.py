"""Similarities of vectors of texts."""

import numpy as np
import numpy.typing as npt

EMBED_AGAIN = "Embed those texts again."

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
