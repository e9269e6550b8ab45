"""Mined negatives: those of a full matrix of cosines, in examples that train."""

import random

import numpy as np
import pytest

from keras_bert import (
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertReranker,
    BertRerankerPreprocessor,
)

DRAW = random.Random(1)
TEXTS = [" ".join(DRAW.choices("abcdefghijk", k=DRAW.randint(3, 8))) for _ in range(60)]
QUERIES, POSITIVES, OTHERS = TEXTS[:20], TEXTS[20:40], TEXTS[40:]
PAIRS = (QUERIES + QUERIES[:7], POSITIVES + OTHERS[:7])  # seven queries have two positives


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


@pytest.fixture
def embedded(monkeypatch):
    """The texts that are embedded, as they come."""
    texts, encode = [], BertEmbedder._encoded
    monkeypatch.setattr(BertEmbedder, "_encoded", lambda *a: texts.extend(a[1]) or encode(*a))
    return texts


@pytest.mark.parametrize(("margin", "first"), [(None, 4), (0.05, 0), (0.01, 1)])
def test_negatives_are_those_of_all_cosines(model, embedded, margin, first):
    settings = {"relative_margin": margin, "range_min": first}
    found = model.mine_hard_negatives(PAIRS, OTHERS * 2, **settings)
    assert sorted(embedded) == sorted(TEXTS), "each text once"
    expected = triplets_of_a_matrix(model, margin, first)
    assert [*zip(*found, strict=True)] == expected and len(expected) > 30


def test_examples_train_embedders_and_rerankers(model, make_backbone, letters, caplog):
    mined = model.mine_hard_negatives(PAIRS, num_negatives=2, relative_margin=0.05)
    assert "queries have fewer than 2 negatives" in caplog.text
    inputs, _ = next(iter(model.batches(mined)))
    assert len(inputs) == 3
    reranker = BertReranker(make_backbone(), preprocessor=BertRerankerPreprocessor(letters, 16))
    inputs, _ = next(iter(reranker.batches(mined, [1.0] * len(mined[0]))))
    assert inputs["token_ids"].shape[1] == 2


def test_a_query_is_no_answer_to_itself(model):
    queries, _, negatives = model.mine_hard_negatives((["a", "b"], ["b", "c d"]), ["e f", "a"])
    assert {*zip(queries, negatives, strict=True)} == {
        *(("a", "c d"), ("a", "e f"), ("b", "a"), ("b", "e f"))
    }


def test_what_cannot_be_mined_is_refused(model, refused):
    mine = model.mine_hard_negatives
    refused("positive of example 1 is empty", mine, (["a", "b"], ["c", " "]))
    refused("text of example 0 is empty", mine, PAIRS, ["", "a"])
    refused("queries, positives.*got single texts", mine, QUERIES)
    refused("corpus of 40 texts, must be at most 38; got 39", mine, PAIRS, OTHERS, range_min=39)
    refused("num_negatives must be at least 1", mine, PAIRS, num_negatives=0)
    refused("relative_margin must be a finite number", mine, PAIRS, relative_margin="5%")
    refused("20 of 20 queries have .*20 none.*relative_margin", mine, PAIRS, relative_margin=9.0)
    refused("1 of 1 queries have fewer", mine, (["a"], ["b"]))
