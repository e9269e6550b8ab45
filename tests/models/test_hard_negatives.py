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


def triplets_of_a_matrix(model, highest, first, last, seed):
    """Mines with all cosines; `highest` gives a negative's, of that of the query's positive."""
    corpus, triplets = [*dict.fromkeys(OTHERS + POSITIVES)], []
    draw = random.Random(seed)
    cosines = model.encode_query(QUERIES) @ model.encode_document(corpus).T
    for query, row in zip(QUERIES, cosines, strict=True):
        own = [text for other, text in zip(*PAIRS, strict=True) if other == query]
        limit = highest(min(row[corpus.index(text)] for text in own))
        near = [i for i in np.argsort(-row)[: last + 2] if row[i] <= limit]
        near = [corpus[i] for i in near if corpus[i] not in own][first:last]
        if seed is not None:  # enough for each query
            near = [near[i] for i in sorted(draw.sample(range(len(near)), 3))]
        triplets += [(query, text, negative) for text in own for negative in near[:3]]
    return triplets


@pytest.mark.parametrize(
    ("settings", "highest", "first", "last"),
    [
        ({}, lambda positive: 2, 0, 5),
        ({"range_min": 4, "range_max": 9}, lambda positive: 2, 4, 9),
        ({"max_score": 0.85}, lambda positive: 0.85, 0, 32),
        ({"absolute_margin": 0.05}, lambda positive: positive - 0.05, 0, 32),
        (
            {"relative_margin": 0.05, "range_min": 1},
            lambda positive: positive - 0.05 * abs(positive),
            *(1, 33),
        ),
        ({"range_max": 12, "sampling_strategy": "random", "seed": 5}, lambda positive: 2, 0, 12),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_negatives_are_those_of_all_cosines(model, monkeypatch, settings, highest, first, last):
    embedded, encode = [], BertEmbedder._encoded
    monkeypatch.setattr(BertEmbedder, "_encoded", lambda *a: embedded.extend(a[1]) or encode(*a))
    monkeypatch.setattr("keras_bert.models.hard_negatives._QUERIES", 6)
    found = model.mine_hard_negatives(PAIRS, OTHERS * 2, **settings)
    assert sorted(embedded) == sorted(TEXTS), "each text once"
    expected = triplets_of_a_matrix(model, highest, first, last, settings.get("seed"))
    assert [*zip(*found, strict=True)] == expected and len(expected) > 30


def test_examples_train_embedders_and_rerankers(model, make_backbone, letters, caplog):
    def mine(output_format):
        return model.mine_hard_negatives(
            PAIRS, num_negatives=2, relative_margin=0.05, output_format=output_format
        )

    triplets = mine("triplet")
    assert "queries have fewer than 2 negatives" in caplog.text
    several = {}
    for *pair, negative in zip(*triplets, strict=True):
        several.setdefault(tuple(pair), []).append(negative)
    whole = [(*pair, *negatives) for pair, negatives in several.items() if len(negatives) == 2]
    tuples = mine("n-tuple")
    assert [*zip(*tuples, strict=True)] == whole and 0 < len(whole) < len(several)
    pairs, relevance = mine("labeled-pair")
    right = {(*pair, 1.0) for pair in zip(*PAIRS, strict=True)}
    wrong = {(query, text, 0.0) for query, _, text in zip(*triplets, strict=True)}
    assert sorted(zip(*pairs, relevance, strict=True)) == sorted(right | wrong)

    for columns in (triplets, tuples):
        inputs, _ = next(iter(model.batches(columns)))
        assert len(inputs) == len(columns)
    reranker = BertReranker(make_backbone(), preprocessor=BertRerankerPreprocessor(letters, 16))
    inputs, labels = next(iter(reranker.batches(pairs, relevance)))
    assert inputs["token_ids"].shape[:2] == (32, 1) and {*labels} == {0.0, 1.0}


def test_a_query_is_no_answer_to_itself(model):
    queries, _, negatives = model.mine_hard_negatives((["a", "b"], ["b", "c d"]), ["e f", "a"])
    assert {*zip(queries, negatives, strict=True)} == {
        *(("a", "c d"), ("a", "e f"), ("b", "a"), ("b", "e f"))
    }


def test_what_cannot_be_mined_is_refused(model, refused):
    mine = model.mine_hard_negatives
    refused("There are 20 texts but 19 second texts", mine, (QUERIES, POSITIVES[1:]))
    refused("Text 1 is None, not a string", mine, (["a", "b"], ["c", None]))
    refused("positive of example 1 is empty", mine, (["a", "b"], ["c", " "]))
    refused("text of example 0 is empty", mine, PAIRS, ["", "a"])
    refused("queries, positives.*got single texts", mine, QUERIES)
    refused("corpus of 40 texts, must be at most 38; got 39", mine, PAIRS, OTHERS, range_min=39)
    refused("range_max, .*at least 5; got 4", mine, PAIRS, range_min=2, range_max=4)
    refused("num_negatives must be at least 1", mine, PAIRS, num_negatives=0)
    refused("relative_margin must be a finite number", mine, PAIRS, relative_margin="5%")
    refused("sampling_strategy .*mean 'top'", mine, PAIRS, sampling_strategy="tops")
    refused("output_format must be one of 'triplet'", mine, PAIRS, output_format="list")
    refused("20 of 20 queries have .*20 none.*looser limits", mine, PAIRS, max_score=-1.0)
    refused("1 of 1 queries have fewer", mine, (["a"], ["b"]))
    many = {"num_negatives": 99, "output_format": "n-tuple"}
    refused("20 of 20 .*and 0 none; they are left out", mine, PAIRS, **many)
