"""Similarities of vectors, and exact search in them. Q queries, n documents of width H."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite, shown

EMBED_AGAIN = "Embed those texts again."

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""The names of similarities in sentence-transformers; distances are negated, as there."""

_DOCUMENTS = 1024  # compared at a time: they stay in the processor's cache
_MAX_PRODUCTS = 2**25  # held at a time, 128 MiB
_ROUNDING = 1e-5  # more than the error of a product in float32, for vectors of length 1


def nearest(
    queries: npt.ArrayLike, documents: npt.ArrayLike, top_k: int, similarity: str = "cosine"
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the `top_k` documents nearest to each query; compares every one.

    Args:
        queries: `[Q, H]` or `[H]` floats.
        documents: `[n, H]` floats. A float32 array isn't copied and may be memory-mapped.
        top_k: int of at least 1, the number of documents for each query; all if there are fewer.
        similarity: `"cosine"`, `"dot"`, `"euclidean"` or `"manhattan"`; distances are negated.

    Returns:
        `(indices, similarities)`, int64 and float32 `[Q, top_k]`, the nearest first. Of equal
        documents, the first comes first.

    Raises:
        ValueError: if vectors aren't finite or differ in width.

    Example:
    >>> nearest([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0], [1.0, 1.0]], top_k=2)[0].tolist()
    [[1, 2]]
    """
    queries = vector_array(queries)
    documents = vector_array(documents)
    check_equal_width(queries.shape[1], documents.shape[1])
    check_all_finite("Vectors", queries, EMBED_AGAIN)
    queries = comparable(queries, similarity)
    documents = np.asarray(documents, "float32")
    top_k = min(top_k, len(documents))
    indices = np.zeros((len(queries), top_k), "int64")
    scores = np.zeros((len(queries), top_k), "float32")
    if not indices.size:
        return indices, scores
    step = max(1, _MAX_PRODUCTS // len(documents))
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        products = _products(block, documents, similarity)
        bounds = _lower_bounds(products, top_k)
        for row, query in enumerate(block, start):
            best, best_scores = _ranked(
                query, documents, products[row - start], bounds[row - start], top_k, similarity
            )
            indices[row] = best
            scores[row] = best_scores
    return indices, scores


def _products(queries, documents, similarity):
    """Compares queries with all documents, up to the rounding of a matrix product: `[Q, n]`."""
    is_one = len(queries) == 1
    is_product = similarity in ("cosine", "dot")
    with np.errstate(over="ignore", invalid="ignore"):
        if is_product and not is_one:
            products = queries @ documents.T
        else:
            products = np.empty((len(queries), len(documents)), "float32")
        scales = np.empty(len(documents), "float32")
        for start in range(0, len(documents), _DOCUMENTS):
            rows = slice(start, start + _DOCUMENTS)
            block = documents[rows]
            if not is_product:
                products[:, rows] = all_similarities(queries, block, similarity)
            elif is_one:
                products[:, rows] = _dots(block, queries)  # in half the time of a product with BLAS
            if similarity == "cosine":
                squares = np.maximum(_dots(block, block), 1e-24)
                scales[rows] = np.sqrt(squares) / squares  # NaN if a square is infinite
        if similarity == "cosine":
            products *= scales
    if not np.isfinite(products).all():
        check_all_finite("Vectors", documents, EMBED_AGAIN)
        raise ValueError("Vectors are too long for float32: scale them to length 1.")
    return products


def _dots(a, b):
    """Returns the dot products of rows, `[n]`."""
    return np.matmul(a[:, None], b[..., None])[:, 0, 0]


def _lower_bounds(products, top_k):
    """Returns a bound for each query that at least `top_k` products reach, and few others: `[Q]`.

    Of groups of documents, each has one that reaches its maximum.
    """
    num_queries, num_documents = products.shape
    width = max(1, num_documents // (16 * top_k))
    groups = products[:, : num_documents // width * width].reshape(num_queries, -1, width)
    return np.partition(groups.max(axis=2), -top_k, axis=1)[:, -top_k]


def _ranked(query, documents, products, bound, top_k, similarity):
    """Returns the nearest documents of one query and their similarities, `[top_k]` each.

    The last bits of a matrix product depend on the place in the matrix, so it only selects the
    candidates. Their similarities are computed again, so that those of equal documents are equal.
    """
    rounding = _ROUNDING
    if similarity == "dot":
        lengths = np.linalg.norm(documents[np.flatnonzero(products >= bound)], axis=1)
        rounding *= np.linalg.norm(query) * lengths.max()
    numbers = np.flatnonzero(products >= bound - rounding)
    scores = similarities(comparable(documents[numbers], similarity), query, similarity)
    order = np.argsort(-scores, kind="stable")[:top_k]
    return numbers[order], scores[order]


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
