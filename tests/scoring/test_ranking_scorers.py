"""Vectors are scored as a plain loop over all of them scores."""

import numpy as np
import pytest

from keras_bert.scoring.ranking_scorers import VectorScorer


def scores(vectors, y=None):
    return VectorScorer(None).score([{"embedding": each} for each in vectors], None, y)


@pytest.mark.parametrize("count", [1, 2, 10, 11, 40])
def test_ranks_and_neighbors_are_those_of_a_loop(count):
    vectors = np.random.default_rng(count).normal(size=(count, 2, 4))
    vectors[:, 1] += vectors[:, 0]
    if count > 20:
        vectors[1] = vectors[0]  # equal positives share the better rank
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = unit[:, 0] @ unit[:, 1].T
    ranks = [1 + np.sum(row > row[index] + 1e-6) for index, row in enumerate(cosines)]
    assert scores(vectors) == {
        "mrr@10": pytest.approx(np.mean([1 / rank if rank <= 10 else 0 for rank in ranks])),
        "accuracy": pytest.approx(ranks.count(1) / count),
    }
    classes = np.arange(count) % 3
    others = unit[:, 0] @ unit[:, 0].T - 9 * np.eye(count)
    share = np.mean(classes[others.argmax(axis=1)] == classes)
    assert scores(vectors[:, 0], classes) == {"accuracy": pytest.approx(share)}
