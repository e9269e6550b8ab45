"""Hard negatives: texts near a query that don't answer it. Q queries, D texts of a corpus."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_bert.messages import logger
from keras_bert.metrics.nearest import comparable, nearest, similarities
from keras_bert.preprocessing.embedding_rows import check_no_empty_text
from keras_bert.preprocessing.texts import text_columns


def pairs_in_corpus(pairs: Any, corpus: Any) -> tuple[dict[str, list[int]], list[str]]:
    """Returns `{query: numbers of its positives}`, and the distinct texts by number."""
    columns = text_columns(pairs, 2)
    if len(columns) < 2:
        raise ValueError("Negatives are mined for (queries, positives); got single texts.")
    queries, positives = columns
    documents = positives
    if corpus is not None:
        [documents] = text_columns(corpus, 1)
    for name, column in (("query", queries), ("positive", positives), ("text", documents)):
        check_no_empty_text(name, column)
    texts = list(dict.fromkeys(documents + positives))
    numbers = {text: number for number, text in enumerate(texts)}
    positives_of: dict[str, list[int]] = {}
    for query, positive in zip(queries, positives, strict=True):
        positives_of.setdefault(query, []).append(numbers[positive])
    return positives_of, texts


def candidates(
    queries: np.ndarray,
    texts: np.ndarray,
    positives: list[list[int]],
    top_k: int,
    relative_margin: float | None,
    similarity: str,
) -> Iterator[list[int]]:
    """Finds the possible negatives of each query, by number, among its `top_k` nearest texts.

    `queries` and `texts` are vectors, `[Q, H]` and `[D, H]`; `positives` are the numbers of each
    query's positives.
    """
    queries = comparable(queries, similarity)
    all_numbers, all_scores = nearest(queries, texts, top_k, similarity)
    for query, of_query, numbers, scores in zip(
        queries, positives, all_numbers, all_scores, strict=True
    ):
        is_negative = ~np.isin(numbers, of_query)
        if relative_margin is not None:
            vectors = comparable(texts[of_query], similarity)
            lowest = similarities(vectors, query, similarity).min()
            is_negative &= scores <= lowest - relative_margin * abs(lowest)
        yield numbers[is_negative].tolist()


def triplets(
    positives_of: dict[str, list[int]],
    texts: list[str],
    mined: list[list[int]],
    num_negatives: int,
) -> tuple[list[str], list[str], list[str]]:
    """Makes columns of queries, positives and negatives; warns of queries with few negatives."""
    queries = []
    positives = []
    negatives = []
    few = []
    for query, numbers in zip(positives_of, mined, strict=True):
        if len(numbers) < num_negatives:
            few.append(query)
        near = [texts[number] for number in numbers]
        for positive in dict.fromkeys(positives_of[query]):
            queries += [query] * len(near)
            positives += [texts[positive]] * len(near)
            negatives += near
    message = (
        f"{len(few):,} of {len(mined):,} queries have fewer than {num_negatives} negatives, and "
        f"{mined.count([]):,} none; they get fewer examples. Use a larger corpus, or a smaller "
        f"range_min or relative_margin. The first: {few[:1]}."
    )
    if not negatives:
        raise ValueError(message)
    if few:
        logger.warning(message)
    return queries, positives, negatives
