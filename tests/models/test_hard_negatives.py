"""Mined negatives: those of a full matrix of cosines, in examples that train."""

import random

import numpy as np
import pytest

from keras_bert import BertEmbedder, BertEmbedderPreprocessor

DRAW = random.Random(1)
TEXTS = [" ".join(DRAW.choices("abcdefghijk", k=DRAW.randint(3, 8))) for _ in range(60)]
QUERIES, POSITIVES, OTHERS = TEXTS[:20], TEXTS[20:40], TEXTS[40:]
# Seven queries have two positives.
PAIRS = (
    QUERIES + QUERIES[:7],
    POSITIVES + OTHERS[:7],
)


@pytest.fixture(scope="module")
def model(make_backbone, letters, varied):
    reader = BertEmbedderPreprocessor(letters, 12, prompts={"query": "q ", "document": ""})
    return BertEmbedder(varied(make_backbone()), preprocessor=reader)


def triplets_of_a_matrix(model, margin, first):
    """Mines with all cosines."""
    corpus, triplets = [*dict.fromkeys(OTHERS + POSITIVES)], []
    cosines = model.encode_query(QUERIES) @ model.encode_document(corpus).T
    for query, row in zip(QUERIES, cosines, strict=True):
        own = [text for other, text in zip(*PAIRS, strict=True) if other == query]
        lowest = min(row[corpus.index(text)] for text in own)
        limit = 2 if margin is None else lowest - margin * abs(lowest)
        nearest = np.argsort(-row)[: first + 34]  # ten times three, and twice two positives
        near = [i for i in nearest if row[i] <= limit]
        near = [corpus[i] for i in near if corpus[i] not in own][first : first + 3]
        triplets += [(query, text, negative) for text in own for negative in near]
    return triplets


def test_negatives_are_those_of_all_cosines(model, monkeypatch):
    embedded, encode = [], BertEmbedder._encoded
    monkeypatch.setattr(BertEmbedder, "_encoded", lambda *a: embedded.extend(a[1]) or encode(*a))
    for margin, first in ((None, 4), (0.05, 0), (0.01, 1)):
        embedded.clear()
        settings = {"relative_margin": margin, "range_min": first}
        found = model.mine_hard_negatives(PAIRS, OTHERS * 2, **settings)
        assert sorted(embedded) == sorted(TEXTS), "each text once"
        expected = triplets_of_a_matrix(model, margin, first)
        assert [*zip(*found, strict=True)] == expected and len(expected) > 30


def test_too_few_negatives_are_told_and_a_query_is_no_answer_to_itself(model, caplog):
    queries, _, negatives = model.mine_hard_negatives((["a", "b"], ["b", "c d"]), ["e f", "a"])
    assert {*zip(queries, negatives, strict=True)} == {
        *(("a", "c d"), ("a", "e f"), ("b", "a"), ("b", "e f"))
    }
    assert "queries have fewer than 3 negatives" in caplog.text


def test_what_cannot_be_mined_is_refused(model, refused):
    for message, pairs, corpus, settings in (
        ("positive of example 1 is empty", (["a", "b"], ["c", " "]), None, {}),
        ("queries, positives.*got single texts", QUERIES, None, {}),
        (
            "corpus of 40 texts, must be at most 38; got 39",
            PAIRS,
            OTHERS,
            {"range_min": 39},
        ),
        (
            "20 of 20 queries .*20 none.*relative_margin",
            PAIRS,
            None,
            {"relative_margin": 9.0},
        ),
    ):
        refused(message, model.mine_hard_negatives, pairs, corpus, **settings)
