"""`nearest` finds what a plain loop finds, whatever the sizes of its blocks."""

import numpy as np
import pytest

from keras_bert.metrics.nearest import SIMILARITIES, all_similarities, comparable, nearest


def rows(number, seed=0):
    return np.random.default_rng(seed).normal(size=(number, 16)).astype("float32")


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_the_nearest_are_those_of_a_plain_loop(similarity, assert_close, monkeypatch):
    documents = 3 * rows(500)
    documents[400:] = documents[:100]  # equal ones, of which the first comes first
    queries = rows(8, 1)
    vectors = [comparable(given, similarity) for given in (queries, documents)]
    expected = all_similarities(*vectors, similarity)
    monkeypatch.setattr("keras_bert.metrics.nearest._DOCUMENTS", 7)
    for most_products in (5, 2**25):
        monkeypatch.setattr("keras_bert.metrics.nearest._MAX_PRODUCTS", most_products)
        indices, scores = nearest(queries, documents, 500, similarity)
        assert_close(scores, np.take_along_axis(expected, indices, 1))
        assert (np.diff(scores, axis=1) <= 0).all()
        ranks = np.argsort(indices, axis=1)  # of each document
        assert (np.take_along_axis(indices, ranks, 1) == np.arange(500)).all()
        assert (ranks[:, :100] + 1 == ranks[:, 400:]).all()
        for top_k in (1, 4, 100):
            few, few_scores = nearest(queries, documents, top_k, similarity)
            np.testing.assert_array_equal(few, indices[:, :top_k])
            np.testing.assert_array_equal(few_scores, scores[:, :top_k])


def test_documents_may_be_all_equal_none_or_short(tmp_path):
    equal = np.ones((50, 16), "float32")
    assert nearest(rows(2), equal, 3)[0].tolist() == [[0, 1, 2]] * 2
    assert nearest(rows(2), equal[:0], 3)[0].shape == (2, 0)
    assert nearest(rows(0), equal, 3)[0].shape == (0, 3)
    np.save(tmp_path / "rows.npy", rows(20))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for documents in (mapped, rows(20).astype("float16")):
        assert nearest(rows(20), documents, 1)[0].ravel().tolist() == [*range(20)]


def test_vectors_that_cannot_be_compared_are_refused(refused, monkeypatch):
    monkeypatch.setattr("keras_bert.metrics.nearest._DOCUMENTS", 7)
    for number in (1, 3):
        queries, documents = rows(number), rows(10)
        refused("differ in width: 3 and 16", nearest, queries[:, :3], documents, 1)
        refused("too long for float32", nearest, queries, 1e25 * documents, 1)
        documents[8, 2] = -np.inf
        for vectors in ((queries, documents), (documents, queries)):
            refused("Vectors must .*got -inf at .8, 2", nearest, *vectors, 1)
