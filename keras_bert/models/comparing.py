"""Vectors of queries and documents, their cosines, and search: methods of `BertEmbedder`."""

import numpy as np

from keras_bert.messages import check_int, shown
from keras_bert.models.answering import outputs_of
from keras_bert.models.task_data import reader_of
from keras_bert.preprocessing.raw import is_dataset, is_raw

_TEXTS = 8192  # tokenized at a time
_QUERIES, _DOCUMENTS = 256, 16384  # cosines at a time: 16 MiB
_ROUNDING = 1e-5  # more than the error of a cosine in float32


def encode_query(model, texts, batch_size=None, *, verbose=0):
    """Embeds queries, with the prompt "query" of the preprocessor if it has one.

    Args:
        model: a `BertEmbedder` with a preprocessor.
        texts: a text, or a list of n texts.
        batch_size: int; 32 by default.
        verbose: 0, or 1 for a progress bar.

    Returns:
        `[n, H]` float32.

    Raises:
        ValueError: if there are no texts, or the model doesn't pool.
    """
    return _encoded(model, texts, "query", batch_size, verbose)


def encode_document(model, texts, batch_size=None, *, verbose=0):
    """Embeds documents, with the prompt "document", "passage" or "corpus" if there is one.

    Arguments, results and errors are those of `encode_query`.
    """
    return _encoded(model, texts, "document", batch_size, verbose)


def similarity(model, texts, others, batch_size=None):
    """Computes the cosine of every text with every other.

    Args:
        model: a `BertEmbedder`.
        texts: a text, n texts, or vectors `[n, H]`.
        others: a text, m texts, or vectors `[m, H]`.
        batch_size: int; 32 by default.

    Returns:
        `[n, m]` float32, from -1 to 1.

    Raises:
        ValueError: if vectors differ in width or are not finite, or the model doesn't pool.
    """
    texts, others = _both(model, texts, others, batch_size, kinds=(None, None))
    return _unit(texts) @ _unit(others).T


def similarity_pairwise(model, texts, others, batch_size=None):
    """Computes the cosine of each text with its counterpart.

    Args:
        model: a `BertEmbedder`.
        texts: a text, n texts, or vectors `[n, H]`.
        others: the counterparts, as many.
        batch_size: int; 32 by default.

    Returns:
        `[n]` float32, from -1 to 1.

    Raises:
        ValueError: if texts and others differ in number, and as `similarity`.
    """
    texts, others = _both(model, texts, others, batch_size, kinds=(None, None))
    if len(texts) != len(others):
        raise ValueError(
            f"There are {len(texts)} texts but {len(others)} others: give each text one. For "
            "every text with every other, use similarity."
        )
    return np.sum(_unit(texts) * _unit(others), axis=-1)


def search(model, queries, documents, top_k=10, batch_size=None):
    """Finds the documents whose vectors are nearest to each query's, by cosine.

    The search is exact. It goes through the documents in blocks, so that a million of them need
    little more memory than their vectors, which may be a memory-mapped array.

    Args:
        model: a `BertEmbedder`.
        queries: a text, n texts, or vectors `[n, H]`. Texts are embedded by `encode_query`.
        documents: texts or vectors `[m, H]`. Texts are embedded by `encode_document`; to search
            them often, embed them once and give the vectors.
        top_k: int, the number of documents for each query.
        batch_size: int; 32 by default.

    Returns:
        `(indices, cosines)`, int64 and float32 `[n, top_k]`, the nearest first. Of equal cosines,
        the document with the lower index comes first.

    Raises:
        ValueError: if `top_k` is above the number of documents, and as `similarity`.
    """
    check_int("top_k", top_k)
    try:
        count = 1 if isinstance(documents, str) else len(documents)
    except TypeError as error:
        raise ValueError(f"documents must be texts or vectors; got {shown(documents)}.") from error
    if top_k > count:
        raise ValueError(f"top_k={top_k} is above the number of documents, {count}.")
    queries, documents = _both(model, queries, documents, batch_size, ("query", "document"))
    queries = _unit(queries)
    indices = np.zeros((len(queries), top_k), "int64")
    cosines = np.full((len(queries), top_k), -np.inf, "float32")
    for start in range(0, len(documents), _DOCUMENTS):
        block = np.asarray(documents[start : start + _DOCUMENTS], "float32")
        _check_finite(block, start)
        block = _unit(block)
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


def _encoded(model, texts, kind, batch_size=None, verbose=0):
    """Embeds texts with the prompt of a kind, or None for the default one."""
    if is_dataset(texts) or isinstance(texts, dict) or not is_raw(texts):
        raise ValueError(f"Give a text or a list of texts; got {shown(texts)}.")
    if model.pooling is None:
        raise ValueError(
            "With pooling=None a text has a vector for each token, and this needs one for the "
            'whole. Take this model with pooling="mean", "max" or "cls", for instance by '
            'BertEmbedder.from_preset(folder, pooling="mean").'
        )
    texts = list(texts) if isinstance(texts, tuple) else texts  # several texts, no example of them
    reader = reader_of(model)
    reader = reader.variants().get(kind, reader)
    parts = reader.parts(texts, _TEXTS)
    found = [outputs_of(model, reader.read(part), batch_size, verbose=verbose) for part in parts]
    return np.concatenate(found)


def _both(model, texts, others, batch_size, kinds):
    """Returns the vectors of both, `[n, H]` and `[m, H]`."""
    found = []
    for x, kind in zip((texts, others), kinds, strict=True):
        if isinstance(x, (str, bytes)) or is_raw(x):
            found.append(_encoded(model, x, kind, batch_size))
            continue
        try:
            vectors = x if isinstance(x, np.ndarray) else np.asarray(x, "float32")
        except (TypeError, ValueError):  # a dict, or lists of different lengths
            vectors = np.array(0)
        if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.size:
            raise ValueError(f"Give texts, or vectors as floats [n, H]; got {shown(x)}.")
        if not isinstance(vectors, np.memmap):
            _check_finite(vectors, 0)
        found.append(vectors)
    texts, others = found
    if texts.shape[1] != others.shape[1]:
        raise ValueError(
            f"The vectors differ in width: {texts.shape[1]} and {others.shape[1]}. Embed both with "
            "the same model and truncate_dim."
        )
    return texts, others


def _check_finite(vectors, start):
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        row = start + int(np.argmin(is_finite))
        raise ValueError(f"Vector {row} has values that are NaN or infinite.")


def _unit(vectors):
    vectors = np.asarray(vectors, "float32")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
