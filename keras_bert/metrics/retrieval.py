"""Scores of rankings: retrieval and reranking."""

import math
from collections.abc import Mapping

import numpy as np

from keras_bert.messages import check_int, shown


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
        ValueError: if `k` is below 1, there are no queries, no query has both, only one of the
            arguments has strings as document ids, or a score or a relevance is NaN.

    Example:
    >>> relevance = {"q1": {"a": 1, "b": 0, "c": 1}}
    >>> means = retrieval_scores(relevance, {"q1": {"a": 0.2, "b": 0.9, "c": 0.1}}, k=2)
    >>> means["mrr@2"], means["recall@2"], means["map@2"]
    (0.5, 0.5, 0.25)
    """
    check_int("k", k)
    _check_numbers("relevance", relevance)
    _check_numbers("scores", scores)
    if not relevance.keys() & scores.keys():
        keys = f"{next(iter(relevance), None)!r} and {next(iter(scores), None)!r}"
        raise ValueError(f"No query has relevance and scores: their keys differ, such as {keys}.")
    rows = []
    for query, judged in relevance.items():
        scored = scores.get(query, {})
        _check_ids(judged, scored)
        rows.append(_scores_of_query(judged, scored, k))
    names = (f"mrr@{k}", f"ndcg@{k}", f"recall@{k}", f"map@{k}", "map")
    means = np.mean(rows, axis=0).tolist()
    return dict(zip(names, means, strict=True))


def _check_numbers(name, rankings):
    are_dicts = isinstance(rankings, Mapping)
    if not are_dicts or not all(isinstance(part, Mapping) for part in rankings.values()):
        raise ValueError(
            f"{name} must be a dict, {{query id: {{document id: number}}}}; got {shown(rankings)}."
        )
    for query, numbers in rankings.items():
        for document, number in numbers.items():
            if math.isnan(number):
                raise ValueError(f"{name}[{query!r}][{document!r}] is NaN.")


def _check_ids(judged, scored):
    """Raises a ValueError if ids, none of which is in both, are strings in only one of them."""
    if not judged or not scored or not scored.keys().isdisjoint(judged):
        return
    judged_id = next(iter(judged))
    scored_id = next(iter(scored))
    if isinstance(judged_id, str) != isinstance(scored_id, str):
        raise ValueError(
            f"Documents have ids such as {judged_id!r} in relevance and {scored_id!r} in scores: "
            "make both int or both str."
        )


def _scores_of_query(judged, scored, k):
    ranking = sorted(scored, key=lambda document: (scored[document], str(document)), reverse=True)
    gains = [judged.get(document, 0.0) for document in ranking]
    gains = np.maximum(gains, 0.0)  # [n]
    ideal = sorted((gain for gain in judged.values() if gain > 0), reverse=True)
    if not ideal or not gains.any():
        return [0.0] * 5
    num_relevant = len(ideal)
    ranks = 1 + np.flatnonzero(gains)  # of relevant documents, from 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    is_in_top = ranks <= k
    return [
        is_in_top[0] / ranks[0],
        _discounted(gains[:k]) / _discounted(ideal[:k]),
        is_in_top.sum() / num_relevant,
        precisions[is_in_top].sum() / num_relevant,
        precisions.sum() / num_relevant,
    ]


def _discounted(gains):
    discounts = np.log2(2 + np.arange(len(gains)))  # log2(1 + rank)
    return float(np.sum(gains / discounts))
