"""Ranking of documents: a method of `BertReranker`."""

import math

from keras_bert.messages import check_int, shown


def rank(reranker, query, documents, top_k=None, batch_size=None):
    """Ranks documents by their scores for a query.

    Pairs are scored in batches of similar lengths.

    Args:
        reranker: a `BertReranker` with a preprocessor.
        query: a string, or a list of strings.
        documents: a list of strings, for each query the same; or for several queries a list of
            lists, one for each query.
        top_k: int, the number of documents to return; None returns all.
        batch_size: int; 32 by default.

    Returns:
        A list of dicts, the best document first: `index`, the place in `documents`; `score`, a
        float; and `text`. Documents with equal scores keep their order. For several queries, a list
        of such lists.

    Raises:
        ValueError: if there is no query or no document, `top_k` is above the number of documents,
            or a score is NaN.
    """
    queries = [query] if isinstance(query, str) else _listed("query", query)
    documents = _listed("documents", documents)
    if isinstance(query, str) or all(isinstance(document, str) for document in documents):
        documents = [documents] * len(queries)
    if len(documents) != len(queries):
        raise ValueError(
            f"There are {len(queries)} queries but {len(documents)} lists of documents: give a "
            "list for each query, or one list of texts for all."
        )
    documents = [_listed("documents", candidates) for candidates in documents]
    _check(queries, documents, top_k)
    pairs = [
        (text, document)
        for text, candidates in zip(queries, documents, strict=True)
        for document in candidates
    ]
    scores = iter([answer["score"] for answer in reranker.answer(pairs, batch_size)])
    found = [
        _ranked(text, candidates, scores)[:top_k]
        for text, candidates in zip(queries, documents, strict=True)
    ]
    return found[0] if isinstance(query, str) else found


def _ranked(query, documents, scores):
    """Returns the documents of one query, the best first, taking their scores from an iterator."""
    rows = []
    for index, text in enumerate(documents):
        score = next(scores)
        if math.isnan(score):
            raise ValueError(
                f"The score of document {index} for the query {shown(query)} is NaN: the weights "
                "of the model are damaged, or its training diverged."
            )
        rows.append({"index": index, "score": score, "text": text})
    return sorted(rows, key=lambda row: -row["score"])


def _listed(name, values):
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        kind = "a string or a list of strings" if name == "query" else "a list of strings"
        raise ValueError(f"{name} must be {kind}; got {shown(values)}.")
    return list(values)


def _check(queries, documents, top_k):
    if not queries:
        raise ValueError("There is no query: give at least one.")
    for text, candidates in zip(queries, documents, strict=True):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"A query must be a non-empty string; got {shown(text)}.")
        if not candidates:
            raise ValueError(f"There are no documents for the query {shown(text)}.")
        if top_k is not None:
            check_int("top_k", top_k)
            if top_k > len(candidates):
                raise ValueError(
                    f"top_k={top_k} is above the number of documents, {len(candidates)}, for the "
                    f"query {shown(text)}. Leave top_k out to rank all."
                )
