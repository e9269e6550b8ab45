"""Vectors are scored as a plain loop over all of them scores; what has no table is JSON."""

import json

import numpy as np
import pytest

from keras_bert.scoring.ranking_scorers import RelevanceScorer, VectorScorer


def scores(vectors, y=None):
    return VectorScorer(None).score([{"embedding": each} for each in vectors], None, y)


def test_ranks_and_neighbors_are_those_of_a_loop():
    for count in (1, 2, 10, 11, 40):
        vectors = np.random.default_rng(count).normal(size=(count, 4, 4))
        vectors[:, 1] += vectors[:, 0]
        vectors[-1, :2] = vectors[0, :2]  # equal positives share the better rank
        unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        cosines = unit[:, 0] @ unit[:, 1].T
        ranks = 1 + (cosines > np.diag(cosines)[:, None] + 1e-6).sum(axis=1)
        reciprocals = np.where(ranks <= 10, 1 / ranks, 0)
        expected = {"mrr@10": reciprocals.mean(), "accuracy": (ranks == 1).mean()}
        assert scores(vectors[:, :2]) == pytest.approx(expected), count
        for num_texts in (3, 4):  # with one negative or two
            is_nearest = [a @ b > max(c @ a) for a, b, *c in unit[:, :num_texts]]
            expected = {"accuracy": np.mean(is_nearest)}
            assert scores(vectors[:, :num_texts]) == pytest.approx(expected), count
        classes = np.arange(count) % 3
        others = unit[:, 0] @ unit[:, 0].T - 9 * np.eye(count)
        share = np.mean(classes[others.argmax(axis=1)] == classes)
        assert scores(vectors[:, 0], classes) == pytest.approx({"accuracy": share}), count
    assert scores(np.ones((2, 3, 4))) == {"accuracy": 0}


def test_answers_without_a_table_are_lines_of_json(tmp_path):
    answer = {"score": np.array([0.5, 0.25])}  # of the documents of a query
    RelevanceScorer(None).write(tmp_path, "dev", [answer, answer], ["x", "y"])
    lines = (tmp_path / "dev_answers.jsonl").read_text().splitlines()
    assert [*map(json.loads, lines)] == [{"score": [0.5, 0.25]}] * 2
