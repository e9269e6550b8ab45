"""Queries with documents."""

import itertools

import keras
import numpy as np
import pytest
from scipy.special import expit

from keras_bert import BertRerankerPreprocessor
from keras_bert.losses import MarginMeanSquaredError

PAIRS = [("a b", "c d"), ("a b", "e f g h"), ("c", "d"), ("c", "e f g h i j k l m n"), ("c", "")]
TRIPLETS = [("a b", "c d", "e f g h"), ("c", "d e f g h i j k l", "e")]


@pytest.fixture
def model(backbone, make_case, varied, eager):
    return eager(varied(make_case("documents", backbone)))


def test_scores_do_not_tie_in_half_precision(make_backbone, make_case):
    model = make_case("documents", make_backbone(dtype="mixed_bfloat16"))
    generator = np.random.default_rng(5)
    for weight in model.trainable_weights:
        if weight.path.endswith(("kernel", "embeddings")):  # larger ones saturate the pooler
            weight.assign(generator.normal(0, 0.2, weight.shape))
    pairs = [("a", " ".join(letters)) for letters in itertools.permutations("bcdefghi", 2)]
    assert len(np.unique(model.predict(pairs))) == len(pairs)


def score_of(model, pairs):
    return np.array([answer["score"] for answer in model.answer(pairs)])


def test_scores_are_sigmoids_or_logits_of_pairs_and_triplets(model, assert_close):
    logits = model.predict(TRIPLETS)  # [2, 2]
    pairs = [(query, document) for query, *others in TRIPLETS for document in others]
    assert_close(model.predict(pairs).ravel(), logits.ravel())
    assert_close(score_of(model, pairs), expit(logits).ravel())
    assert_close(score_of(model, TRIPLETS), expit(logits))
    assert score_of(model, model.preprocessor.batches(PAIRS, with_labels=False)).shape == (5, 1)
    model.preprocessor = BertRerankerPreprocessor.like(model.preprocessor, activation="linear")
    assert_close(score_of(model, TRIPLETS), logits)


def test_documents_are_ranked_and_equal_ones_stay_in_their_order(assert_close, model, monkeypatch):
    texts = ["c d", "e f g h", "", "c d", "k"]
    scores = score_of(model, [("a b", text) for text in texts])
    ranked = model.rank("a b", texts, batch_size=2)
    assert [row["text"] for row in ranked] == [texts[row["index"]] for row in ranked]
    assert sorted(row["index"] for row in ranked) == list(range(5))
    assert_close([scores[row["index"]] for row in ranked], sorted(scores)[::-1])
    assert_close([row["score"] for row in ranked], sorted(scores)[::-1])
    for top_k in (2, 99):
        assert model.rank("a b", texts, top_k, batch_size=2) == ranked[:top_k]
    equal = [{"score": score} for score in (0.5, 0.9, 0.5, 0.1, 0.5)]
    monkeypatch.setattr(model, "answer", lambda pairs, batch_size: equal)
    assert [row["index"] for row in model.rank("a b", texts)] == [1, 0, 2, 4, 3]


def test_what_cannot_be_ranked_or_scored_is_refused(model, refused):
    nothing, like = np.zeros(5), type(model.preprocessor).like
    for message, call, *arguments in (
        ("a non-empty string; got ' '", model.rank, " ", ["a"]),
        (r"one query.*got \['b', 'a'\]", model.rank, ["b", "a"], ["a"]),
        ("no texts: give at least one", model.rank, "a", []),
        ("Text 1 is None, not a string", model.rank, "a", ["b", None]),
        ("An example has up to 1 text; got 2", model.rank, "a", [("b", "c")]),
        ("top_k must be at least 1", model.rank, "a", ["b"], 0),
        ("got single texts", model.answer, ["a", "b"]),
        ("up to 3 texts; got 4", model.answer, [("a", "b", "c", "d")]),
        ("None of the 2 queries has a relevant document", model.scores, PAIRS, nothing),
        (r"a relevance each.*\(2, 2\)", model.scores, [("a", "b"), ("c", "d")], np.eye(2)),
        ("got 3 columns of texts", model.scores, TRIPLETS, [1, 0]),
    ):
        refused(message, call, *arguments)
    refused("activation must be one of .*; got 'so", like, model.preprocessor, activation="softmax")
    model.head.bias.assign([np.nan])
    refused("Scores of documents must be finite numbers; got nan at .0", model.rank, "a", ["b"])
    refused("scores..a b....0*.. is NaN", model.scores, PAIRS, [1, 0, 1, 0, 0])


def test_losses_are_those_of_the_data(model):
    [logits], margins = model.predict(PAIRS).T, -np.diff(model.predict(TRIPLETS)).ravel()
    for x, outputs, y, loss in (
        (PAIRS, logits, np.array([4.0, -2, 0, 1, -3]), "mean_squared_error"),
        (TRIPLETS, margins, np.array([-5.0, 3.0]), MarginMeanSquaredError()),
    ):
        model.compile("sgd", loss, run_eagerly=True)
        assert model.evaluate(x, y) == pytest.approx(np.mean((outputs - y) ** 2), rel=1e-4)


def test_relevance_outside_of_0_to_1_is_refused_by_binary_cross_entropy(model, tensorflow, refused):
    for relevance, message in (
        ([1, 3], "a relevance from 0 to 1; got 3.0 at .1.*MarginMeanSquaredError"),
        ([np.nan, 1], "got nan at .0"),
        (["yes", "no"], r"must be a number for each example; got \['yes'"),
    ):
        refused(message, model.fit, PAIRS[:2], relevance)
    x = {"token_ids": np.array([[[2, 5, 3]]])}
    data = tensorflow.data.Dataset.from_tensors((x, [-1.0]))
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="relevance from 0 to 1"):
        model.fit(data)
    model.compile("sgd", loss="mean_squared_error", run_eagerly=True)
    model.fit(PAIRS[:2], [1, 3])


def test_a_loss_of_pairs_refuses_triplets_and_the_other_way_round(model, inputs, refused):
    pairs = {name: values[:, None] for name, values in inputs.items()}  # [8, 1, 12]
    # As many queries as documents of each: their labels must not be broadcast.
    triplets = {name: values[:4].reshape(2, 2, 12) for name, values in inputs.items()}
    ones = np.ones((2, 2))
    message = "each query has 2 documents but one label.*MarginMeanSquaredError"
    for loss in (keras.losses.mean_squared_error, "mean_squared_error", None):
        model.compile("sgd", loss, run_eagerly=True)
        for y in (ones[0], ones[:, :1]):
            refused(message, model.fit, triplets, y)
    model.fit(triplets, ones)  # a relevance for each document
    model.compile("sgd", MarginMeanSquaredError(), run_eagerly=True)
    message = r"of \(query, positive, negative\); got \(8,\) and \(8, 1\)"
    refused(message, model.fit, pairs, np.ones(8))
    refused(r"got \(2, 2\) and \(2, 2\)", model.fit, triplets, ones)


def test_a_ranking_worse_than_the_given_one_is_told(model, caplog):
    ranked = [found["text"] for found in model.rank("b", ["c", "d a", "b e", "a"])]
    last = ranked[3]  # the relevant document
    for order, is_worse in ((ranked, False), ([ranked[0], last, *ranked[1:3]], True)):
        model.scores([("b", text) for text in order], [float(text == last) for text in order])
        assert ("mrr@10 0.250, not 0.500. If that is a search" in caplog.text) == is_worse


def test_scores_are_means_over_the_queries(model, caplog):
    logits = model.predict(PAIRS)[:, 0]
    worst, _, best = np.argsort(logits[2:]) + 2
    y = np.zeros(5)
    y[[int(np.argmax(logits[:2])), worst]] = 1
    assert model.scores(PAIRS, y)["mrr@10"] == pytest.approx((1 + 1 / 3) / 2)
    caplog.clear()
    y[[worst, best]] = 0, 0.5
    assert model.scores(PAIRS, y) == {"mrr@10": 1.0, "ndcg@10": 1.0, "map": 1.0}
    assert not caplog.records
    y[best] = 0
    assert model.scores(PAIRS, y)["map"] == 0.5
    assert "1 of 2 queries have no relevant document and count as 0, the first 'c'" in caplog.text
