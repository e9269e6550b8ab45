"""Scores of rankings: retrieval and reranking."""

import math
from collections.abc import Mapping

import numpy as np

from keras_bert.messages import check_int


def retrieval_scores(
    relevance: Mapping[str, Mapping[str, float]],
    scores: Mapping[str, Mapping[str, float]],
    k: int = 10,
) -> dict[str, float]:
    """Computes the scores of rankings, as trec_eval does, as means over queries.

    A document is relevant if its relevance is above 0; one without a relevance isn't. NDCG takes
    the relevance as the gain. Documents with equal scores are ranked by their ids, the last one in
    the order of strings first. A query without a relevant document, or without scores, counts as 0,
    as with the option `-c` of trec_eval. Queries without relevance are left out.

    Args:
        relevance: `{query id: {document id: number}}`, the judgments (TREC's "qrels").
        scores: `{query id: {document id: number}}`, the higher the better (TREC's "run").
        k: int, the number of top documents that count.

    Returns:
        A dict of floats: `mrr@k`, the reciprocal rank of the first relevant document; `ndcg@k`;
        `recall@k`; `map@k`, the average precision; and `map`, that of the entire ranking. The names
        contain the number k. Average precision is divided by all relevant documents of a query.

    Raises:
        ValueError: if `k` is below 1, there are no queries, no query has both, or a score or a
            relevance is NaN.

    Example:
    >>> relevance = {"q1": {"a": 1, "b": 0, "c": 1}}
    >>> found = retrieval_scores(relevance, {"q1": {"a": 0.2, "b": 0.9, "c": 0.1}}, k=2)
    >>> found["mrr@2"], found["recall@2"], found["map@2"]
    (0.5, 0.5, 0.25)
    """
    check_int("k", k)
    if not relevance.keys() & scores.keys():
        keys = f"{next(iter(relevance), None)!r} and {next(iter(scores), None)!r}"
        raise ValueError(f"No query has relevance and scores: their keys differ, such as {keys}.")
    rows = [_of_query(query, relevance[query], scores.get(query, {}), k) for query in relevance]
    names = (f"mrr@{k}", f"ndcg@{k}", f"recall@{k}", f"map@{k}", "map")
    return dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))


def _of_query(query, judged, scored, k):
    for name, numbers in (("relevance", judged), ("score", scored)):
        for document, number in numbers.items():
            if math.isnan(number):
                raise ValueError(f"The {name} of document {document!r} of query {query!r} is NaN.")
    order = sorted(scored, key=lambda document: (scored[document], str(document)), reverse=True)
    gains = np.array([max(0.0, judged.get(document, 0.0)) for document in order])  # [n]
    ideal = np.sort([gain for gain in judged.values() if gain > 0])[::-1]
    if not ideal.size or not gains.any():
        return [0.0] * 5
    is_found = gains > 0
    places = 1 + np.flatnonzero(is_found)  # ranks of relevant documents, from 1
    precisions = np.cumsum(is_found)[is_found] / places
    return [
        float(places[0] <= k) / places[0],
        _discounted(gains[:k]) / _discounted(ideal[:k]),
        np.sum(places <= k) / len(ideal),
        np.sum(precisions[places <= k]) / len(ideal),
        np.sum(precisions) / len(ideal),
    ]


def _discounted(gains):
    return float(np.sum(gains / np.log2(2 + np.arange(len(gains)))))  # log2(1 + rank)
