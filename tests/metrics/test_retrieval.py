import json
import math
from pathlib import Path

import pytest

from keras_bert.metrics import retrieval_scores

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "retrieval.json"


def test_scores_are_those_of_trec_eval_with_ties_and_without_relevant_documents():
    cases = json.loads(GOLDEN.read_text())
    assert len(cases) == 20
    for case in cases:
        found = retrieval_scores(case["relevance"], case["scores"], case["k"])
        assert found == pytest.approx(case["theirs"], abs=1e-12)


def test_bad_rankings_are_refused(refused):
    for relevance, scores, k, message in (
        ({}, {}, 10, "No query has relevance"),
        ({"a": 1}, {"a": {"x": 1}}, 10, "relevance must be a dict"),
        ({"a": {"x": 1}}, {"b": {"x": 1}}, 10, "keys differ, such as 'a' and 'b'"),
        ({"a": {"x": 1}}, {"a": {"x": math.nan}}, 10, r"scores\['a'\]\['x'\] is NaN"),
        ({"a": {"x": 1}}, {"a": {"x": 1}}, 0, "k must be"),
    ):
        refused(message, retrieval_scores, relevance, scores, k)


def test_ids_of_both_types_may_differ_in_order():
    scores = retrieval_scores({"a": {1: 1, "x": 0}}, {"a": {"x": 0.5, 1: 0.9}}, 1)
    assert scores["mrr@1"] == 1
