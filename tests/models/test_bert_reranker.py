"""Queries with documents."""

import numpy as np
import pytest
from scipy.special import expit

from keras_bert import BertRerankerPreprocessor
from keras_bert.losses import MarginMeanSquaredError

PAIRS = [
    ("a b", "c d"),
    ("a b", "e f g h"),
    ("c", "d"),
    ("c", "e f g h i j k l m n"),
    ("c", ""),
]
TRIPLETS = [("a b", "c d", "e f g h"), ("c", "d e f g h i j k l", "e")]


@pytest.fixture
def model(backbone, make_case, varied, eager):
    return eager(varied(make_case("documents", backbone)))


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


def test_documents_are_ranked_and_equal_ones_stay_in_their_order(model, monkeypatch):
    scores = dict(zip("abcde", (0.5, 0.9, 0.5, 0.1, 0.5), strict=True))

    def answer(pairs, batch_size):
        return [{"score": scores[text] if query == "q" else None} for query, text in pairs]

    monkeypatch.setattr(model, "answer", answer)
    ranked = model.rank("q", [*scores])
    assert ranked == [
        {"index": i, "score": scores[text], "text": text}
        for i, text in ((1, "b"), (0, "a"), (2, "c"), (4, "e"), (3, "d"))
    ]
    for top_k in (2, 99):
        assert model.rank("q", [*scores], top_k) == ranked[:top_k]


def test_what_cannot_be_ranked_or_scored_is_refused(model, refused):
    for message, call, *arguments in (
        ("a non-empty string; got ' '", model.rank, " ", ["a"]),
        (r"one query.*got \['b', 'a'\]", model.rank, ["b", "a"], ["a"]),
        ("got single texts", model.answer, ["a", "b"]),
        (
            r"a relevance each.*\(2, 2\)",
            model.scores,
            [("a", "b"), ("c", "d")],
            np.eye(2),
        ),
        ("got 3 columns of texts", model.scores, TRIPLETS, [1, 0]),
    ):
        refused(message, call, *arguments)
    model.head.bias.assign([np.nan])
    refused(
        "Scores of documents must be finite numbers; got nan at .0",
        model.rank,
        "a",
        ["b"],
    )
    refused(r"\(2, 2\) and \(2, 2\)", MarginMeanSquaredError(), np.eye(2), np.eye(2))
    refused("scores..a b....0*.. is NaN", model.scores, PAIRS, [1, 0, 1, 0, 0])


def test_losses_are_those_of_the_data(model):
    [logits], margins = model.predict(PAIRS).T, -np.diff(model.predict(TRIPLETS)).ravel()
    for x, outputs, y, loss in (
        (PAIRS, logits, np.array([4.0, -2, 0, 1, -3]), "mean_squared_error"),
        (TRIPLETS, margins, np.array([-5.0, 3.0]), MarginMeanSquaredError()),
    ):
        model.compile("sgd", loss, run_eagerly=True)
        assert model.evaluate(x, y) == pytest.approx(np.mean((outputs - y) ** 2), rel=1e-4)


def test_relevance_of_a_dataset_outside_of_0_to_1_is_refused(model, tensorflow):
    x = {"token_ids": np.array([[[2, 5, 3]]])}
    data = tensorflow.data.Dataset.from_tensors((x, [-1.0]))
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="relevance from 0 to 1"):
        model.fit(data)


@pytest.mark.slow
def test_a_loss_of_pairs_refuses_triplets_and_the_other_way_round(model, inputs, refused):
    pairs = {name: values[:, None] for name, values in inputs.items()}  # [8, 1, 12]
    # As many queries as documents of each: their labels must not be broadcast.
    triplets = {name: values[:4].reshape(2, 2, 12) for name, values in inputs.items()}
    ones = np.ones((2, 2))
    message = "each query has 2 documents but one label.*MarginMeanSquaredError"
    for loss in ("mean_squared_error", None):
        model.compile("sgd", loss, run_eagerly=True)
        for y in (ones[0], ones[:, :1]):
            refused(message, model.fit, triplets, y)
    model.fit(triplets, ones)  # a relevance for each document
    model.compile("sgd", MarginMeanSquaredError(), run_eagerly=True)
    message = r"of \(query, positive, negative\); got \(8,\) and \(8, 1\)"
    refused(message, model.fit, pairs, np.ones(8))


def test_scores_are_means_over_the_queries(model, caplog):
    def scores(*labels):
        caplog.clear()
        answers = [{"score": score} for score in (0.1, 0.2, 0.5, 0.9, 0.7)]
        return model.scorer.score(answers, PAIRS, labels)

    assert scores(0, 1, 0, 0, 1)["mrr@10"] == (1 + 1 / 2) / 2
    assert not caplog.records
    assert scores(0, 1, 0, 0, 0)["map"] == 0.5
    assert "1 of 2 queries have no relevant document and count as 0, the first 'c'" in caplog.text
    scores(1, 0, 0, 0, 1)  # worse than the order in which they are given
    assert "mrr@10 0.500, not 0.667. If that is a search" in caplog.text
