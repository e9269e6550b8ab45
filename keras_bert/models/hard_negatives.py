"""Hard negatives: texts near a query that don't answer it. Q queries, D texts of a corpus."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_bert.messages import check_number, logger
from keras_bert.metrics.embeddings import nearest, unit
from keras_bert.preprocessing.embedding_rows import check_no_empty_text
from keras_bert.preprocessing.texts import text_columns

_QUERIES = 2**16  # of a search at a time, which normalizes all texts
_HIGHEST = {  # cosine of a negative, by the lowest of the query's positives
    "max_score": lambda positive, score: score,
    "absolute_margin": lambda positive, margin: positive - margin,
    "relative_margin": lambda positive, margin: positive - margin * abs(positive),
}


def checked_limits(*values: float | None) -> dict[str, float]:
    """Returns those of the limits that aren't None, by name."""
    limits = {name: x for name, x in zip(_HIGHEST, values, strict=True) if x is not None}
    for name, limit in limits.items():
        check_number(name, limit)
    return limits


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


def candidates(
    queries: np.ndarray, texts: np.ndarray, own: list, top_k: int, limits: dict[str, float]
) -> Iterator[list[int]]:
    """Finds the possible negatives of each query, by number, among its `top_k` nearest texts.

    `queries` and `texts` are vectors `[Q, H]` and `[D, H]`, and `own` the numbers of each query's
    positives.
    """
    for start in range(0, len(queries), _QUERIES):
        rows = slice(start, start + _QUERIES)
        part = unit(queries[rows])
        found = nearest(part, texts, min(top_k, len(texts)))
        for query, positives, numbers, cosines in zip(part, own[rows], *found, strict=True):
            lowest = np.sum(unit(texts[positives]) * query, axis=-1).min()
            highest = [_HIGHEST[name](lowest, limit) for name, limit in limits.items()]
            is_far = cosines <= min(highest, default=np.inf)
            yield numbers[is_far & ~np.isin(numbers, positives)].tolist()


def examples(
    own: dict[str, list[int]], texts: list[str], mined: list[list[int]], most: int, kind: str
) -> tuple:
    """Makes the examples of an `output_format`; counts queries with fewer than `most` negatives."""
    rows: list[tuple] = []
    for (query, numbers), near in zip(own.items(), mined, strict=True):
        positives = [texts[number] for number in dict.fromkeys(numbers)]
        negatives = [texts[number] for number in near]
        if kind == "labeled-pair":
            rows += [(query, text, 1.0) for text in positives]
            rows += [(query, text, 0.0) for text in negatives]
        elif kind == "triplet":
            rows += [(query, *both) for both in itertools.product(positives, negatives)]
        elif len(negatives) == most:
            rows += [(query, text, *negatives) for text in positives]
    few = [query for query, near in zip(own, mined, strict=True) if len(near) < most]
    effect = "are left out" if kind == "n-tuple" else "get fewer examples"
    message = (
        f"{len(few):,} of {len(own):,} queries have fewer than {most} negatives, and "
        f"{mined.count([]):,} none; they {effect}. "
        f"Use a larger corpus or range_max, or looser limits. The first: {few[:1]}."
    )
    if not any(mined) or not rows:
        raise ValueError(message)
    if few:
        logger.warning(message)
    columns = tuple(map(list, zip(*rows, strict=True)))
    return (columns[:2], columns[2]) if kind == "labeled-pair" else columns
