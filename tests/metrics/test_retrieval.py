import json
import math
from pathlib import Path

import pytest

from keras_bert.metrics import retrieval_scores, triplet_accuracy

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "retrieval.json"


def test_scores_are_those_of_trec_eval_with_ties_and_without_relevant_documents():
    cases = json.loads(GOLDEN.read_text())
    assert len(cases) == 20
    assert any(not any(r > 0 for r in q.values()) for c in cases for q in c["relevance"].values())
    for case in cases:
        found = retrieval_scores(case["relevance"], case["scores"], case["k"])
        assert found == pytest.approx(case["theirs"], abs=1e-12)


def test_scores_are_those_counted_by_hand():
    relevance = {"q": {"a": 0.5, "b": 1.0, "c": 0.0}, "other": {"a": 1}}
    scores = {"q": {"a": 2.0, "b": 1.0, "c": 3.0, "unjudged": 9.0}, "other": {"a": 1.0}}
    found = retrieval_scores(relevance, scores, k=3)  # q: unjudged, c, a, b
    log = math.log2
    expected = {
        "mrr@3": (1 / 3 + 1) / 2,
        "ndcg@3": (0.5 / log(4) / (1 / log(2) + 0.5 / log(3)) + 1) / 2,
        "recall@3": (1 / 2 + 1) / 2,
        "map@3": (1 / 3 / 2 + 1) / 2,
        "map": ((1 / 3 + 2 / 4) / 2 + 1) / 2,
    }
    assert found == pytest.approx(expected)


def test_equal_scores_put_the_last_id_first():
    relevance = {"q": {"a": 1, "b": 0}}
    tied = retrieval_scores(relevance, {"q": {"a": 1.0, "b": 1.0}})
    assert tied["mrr@10"] == 0.5
    assert tied == retrieval_scores(relevance, {"q": {"b": 1.0, "a": 1.0}})


@pytest.mark.parametrize(
    ("relevance", "scores", "k", "message"),
    [
        ({}, {}, 10, "no queries"),
        ({"a": {"x": 1}}, {"b": {"x": 1}}, 10, "keys differ, such as 'a' and 'b'"),
        ({"a": {"x": 1}}, {"a": {"x": math.nan}}, 10, "score of document 'x' of query 'a' is NaN"),
        ({"a": {"x": math.nan}}, {"a": {"x": 1}}, 10, "relevance of document 'x' .* is NaN"),
        ({"a": {"x": 1}}, {"a": {"x": 1}}, 0, "k must be"),
    ],
)
def test_bad_rankings_are_refused(relevance, scores, k, message):
    with pytest.raises(ValueError, match=message):
        retrieval_scores(relevance, scores, k)


def test_triplets_with_a_higher_positive_are_right():
    assert triplet_accuracy([0.9, 0.4, 0.2, 0.3], [0.1, 0.4, 0.1, 0.5]) == 0.5
    with pytest.raises(ValueError, match="NaN"):
        triplet_accuracy([math.nan], [0.1])
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        triplet_accuracy([0.1, 0.2], [0.1])
