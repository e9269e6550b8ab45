"""Hard negatives: texts near a query that don't answer it. Q queries, D texts of a corpus."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from keras_bert.messages import check_one_each, logger
from keras_bert.metrics.embeddings import comparable, similarities
from keras_bert.preprocessing.embedding_rows import check_no_empty_text
from keras_bert.preprocessing.texts import text_columns
from keras_bert.vector_index import VectorIndex, check_equal_width, vector_array

_QUERIES = 4096  # of a search at a time


def pairs_in_corpus(pairs: Any, corpus: Any) -> tuple[dict[str, list[int]], list[str]]:
    """Returns `{query: numbers of its positives}`, and all different texts by number."""
    columns = text_columns(pairs, 2)
    if len(columns) < 2:
        raise ValueError("Negatives are mined for (queries, positives); got single texts.")
    columns += columns[1:] if corpus is None else text_columns(corpus, 1)
    for name, column in zip(("query", "positive", "text"), columns, strict=True):
        check_no_empty_text(name, column)
    queries, positives, documents = columns
    numbers = {text: number for number, text in enumerate(dict.fromkeys(documents + positives))}
    own: dict[str, list[int]] = {}
    for query, positive in zip(queries, positives, strict=True):
        own.setdefault(query, []).append(numbers[positive])
    return own, [*numbers]


def with_vectors(
    texts: list[str], corpus: Any, vectors: Any, encode: Callable[[list[str]], np.ndarray]
) -> np.ndarray:
    """Returns vectors of texts, `[D, H]`: `vectors` for those of a corpus, new ones for others."""
    if corpus is None:
        raise ValueError("There are vectors without their texts: give the corpus, too.")
    [documents] = text_columns(corpus, 1)
    vectors = vector_array(vectors)
    check_one_each(len(documents), "texts of the corpus", vectors=vectors)
    rows = {text: row for row, text in enumerate(documents)}
    others = [text for text in texts if text not in rows]
    if others:
        new = encode(others)
        check_equal_width(new.shape[1], vectors.shape[1])
        vectors = np.concatenate([vectors, new])
        rows |= {text: len(documents) + number for number, text in enumerate(others)}
    return vectors[[rows[text] for text in texts]]


def candidates(
    queries: np.ndarray,
    texts: np.ndarray,
    own: list,
    top_k: int,
    relative_margin: float | None,
    similarity: str,
) -> Iterator[list[int]]:
    """Finds the possible negatives of each query, by number, among its `top_k` nearest texts.

    `queries` and `texts` are vectors `[Q, H]` and `[D, H]`, and `own` the numbers of each query's
    positives.
    """
    index = VectorIndex(texts, similarity)
    for start in range(0, len(queries), _QUERIES):
        rows = slice(start, start + _QUERIES)
        part = comparable(queries[rows], similarity)
        found = index.search(part, top_k)
        for query, positives, numbers, scores in zip(part, own[rows], *found, strict=True):
            is_negative = ~np.isin(numbers, positives)
            if relative_margin is not None:
                vectors = comparable(texts[positives], similarity)
                lowest = similarities(vectors, query, similarity).min()
                is_negative &= scores <= lowest - relative_margin * abs(lowest)
            yield numbers[is_negative].tolist()


def triplets(
    own: dict[str, list[int]], texts: list[str], mined: list[list[int]], num_negatives: int
) -> tuple[list[str], list[str], list[str]]:
    """Makes columns of queries, positives and negatives; warns of queries with few negatives."""
    few = [query for query, near in zip(own, mined, strict=True) if len(near) < num_negatives]
    message = (
        f"{len(few):,} of {len(own):,} queries have fewer than {num_negatives} negatives, and "
        f"{mined.count([]):,} none; they get fewer examples. Use a larger corpus, or a smaller "
        f"range_min or relative_margin. The first: {few[:1]}."
    )
    if not any(mined):
        raise ValueError(message)
    if few:
        logger.warning(message)
    queries, positives, negatives = [], [], []
    for query, near in zip(own, mined, strict=True):
        for positive in dict.fromkeys(own[query]):
            queries += [query] * len(near)
            positives += [texts[positive]] * len(near)
            negatives += [texts[number] for number in near]
    return queries, positives, negatives
