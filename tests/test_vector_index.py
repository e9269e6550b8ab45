"""An index finds what a plain loop finds, however its vectors came and wherever they are."""

import numpy as np
import pytest

from keras_bert import VectorIndex
from keras_bert.metrics.embeddings import SIMILARITIES, all_similarities, comparable
from keras_bert.vector_index import DTYPES

# What a value of a vector of length 1 may lose, and a similarity of two with it.
ERRORS = {"float32": 1e-6, "float16": 2**-11, "int8": 1 / 127}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for name, rows in (("_QUERIES", 3), ("_DOCUMENTS", 7), ("_EXACT", 5)):
        monkeypatch.setattr(f"keras_bert.vector_index.{name}", rows)


def rows(number, seed=0):
    return np.random.default_rng(seed).normal(size=(number, 16)).astype("float32")


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_nearest_are_those_of_a_plain_loop(similarity, dtype):
    vectors, queries = rows(50), rows(8, 1)
    vectors[40:] = vectors[:10]  # equal ones, of which the first added comes first
    index = VectorIndex(vectors, similarity, dtype)
    ids, scores = index.search(queries, 50)
    expected = all_similarities(
        comparable(queries, similarity), comparable(vectors, similarity), similarity
    )
    size = np.abs(expected).max() if similarity == "manhattan" else np.abs(vectors).max() * 16
    np.testing.assert_allclose(
        scores, np.take_along_axis(expected, ids, 1), atol=ERRORS[dtype] * size, rtol=0
    )
    assert (np.diff(scores, axis=1) <= 0).all()
    places = np.argsort(ids, axis=1)  # of each id
    np.testing.assert_array_equal(np.sort(ids, axis=1), np.tile(np.arange(50), (8, 1)))
    assert (places[:, :10] + 1 <= places[:, 40:]).all()
    for top_k in (1, 4):
        found = index.search(queries, top_k)
        np.testing.assert_array_equal(found[0], ids[:, :top_k])
        np.testing.assert_array_equal(found[1], scores[:, :top_k])


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_added_and_removed_is_found_or_not(tmp_path, dtype):
    draw = np.random.default_rng(3)
    index, there = VectorIndex(dtype=dtype), {}
    for step in range(60):
        action = draw.integers(4)
        if action < 2:
            new = rows(draw.integers(1, 5), step)
            given = None if action else 1000 + 10 * step + np.arange(len(new))
            there.update(zip(index.add(new, given).tolist(), new, strict=True))
        elif action == 2 and there:
            some = draw.choice([*there], min(3, len(there)), replace=False)
            index.remove(some)
            for number in some.tolist():
                del there[number]
        elif there:
            index.save(tmp_path / "index")
            index = VectorIndex.load(tmp_path / "index", in_memory=bool(step % 2))
        assert len(index) == len(there)
    fresh = VectorIndex(np.stack([*there.values()]), dtype=dtype, ids=[*there])
    for found, expected in zip(index.search(rows(5), 9), fresh.search(rows(5), 9), strict=True):
        np.testing.assert_array_equal(found, expected)
    index.remove([*there])
    assert len(index) == 0 and index.search(rows(2))[0].shape == (2, 0)


def test_a_saved_index_stays_on_the_disk_and_is_replaced_whole(tmp_path):
    index = VectorIndex(rows(30), "dot")
    index.save(tmp_path / "index")
    mapped = VectorIndex.load(tmp_path / "index")
    assert repr(mapped) == "VectorIndex(30 vectors of 16 float32 values, dot)"
    assert isinstance(mapped._parts[0].vectors, np.memmap)
    mapped.add(rows(5, 1))
    mapped.save(tmp_path / "index")  # over the file that is mapped
    again = VectorIndex.load(tmp_path / "index")
    for one, other in zip(mapped.search(rows(4, 2)), again.search(rows(4, 2)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.add(rows(1, 3)).tolist() == [35]


def test_many_small_additions_make_few_parts():
    index = VectorIndex()
    for row in rows(300):
        index.add(row)
    assert len(index._parts) <= 9 and len(index) == 300  # 2^8 + 2^5 + 2^3 + 2^2
    assert index.search(rows(300)[[7]], 1)[0].tolist() == [[7]]


def test_a_mapped_array_that_is_added_stays_on_the_disk(tmp_path):
    np.save(tmp_path / "more.npy", rows(20))
    index = VectorIndex(rows(3, 1))
    index.add(np.load(tmp_path / "more.npy", mmap_mode="r"))
    assert isinstance(index._parts[1].vectors, np.memmap)
    index.remove(range(len(index)))
    with pytest.raises(ValueError, match="no vectors to save"):
        index.save(tmp_path / "index")


def test_large_and_short_vectors_keep_their_cosines():
    large = 1e25 * rows(20)  # their squares are beyond float32
    for dtype in DTYPES:
        ids, cosines = VectorIndex(large, dtype=dtype).search(rows(20), 1)
        assert ids[:, 0].tolist() == list(range(20))
        np.testing.assert_allclose(cosines, 1, atol=ERRORS[dtype] * 4)
    assert VectorIndex(rows(3).astype("float16")).dtype == "float16"
    assert VectorIndex(rows(3).astype("float64")).dtype == "float32"


def test_what_is_no_vector_of_an_index_is_refused(refused, tmp_path):
    index = VectorIndex(rows(10))
    wrong = rows(10)
    wrong[8, 2] = np.inf
    refused("Vectors from row 7 must .*got inf at .1, 2", VectorIndex, wrong)
    refused("Vectors must .*got inf", index.search, wrong[8])
    refused("Vectors.* must .*got inf", VectorIndex, 1e5 * rows(2), "dot", "float16")
    refused("similarity must be one of", VectorIndex, rows(2), "cos")
    refused("dtype must be one of", VectorIndex, rows(2), "dot", "int4")
    refused("differ in width: 3 and 16", index.add, rows(2)[:, :3])
    refused("differ in width: 3 and 16", index.search, rows(2)[:, :3])
    refused("3 is in the index or comes twice", index.add, rows(2), [20, 3])
    refused("20 is in the index or comes twice", index.add, rows(2), [20, 20])
    refused("ids must be ints", index.add, rows(1), ["a"])
    refused("ids must be ints", index.add, rows(1), [-1])
    refused("ids must be ints", index.add, rows(1), np.array([2**63 - 1]))
    refused("ids must be ints", index.add, rows(1), np.array([2**63], "uint64"))
    for ids in (np.arange(10) == 3, [1.0], "1"):
        refused("ids must be ints", index.remove, ids)
    refused("must be floats.*encode_document.*got 'a text'", index.search, "a text")
    refused("no vector with the id 10", index.remove, [1, 10])
    refused("top_k must be at least 1", index.search, rows(1), 0)
    refused("no vectors to save", VectorIndex().save, tmp_path / "index")
    refused("no index.json", VectorIndex.load, tmp_path)
    (tmp_path / "letters.txt").write_text("mine")
    refused("letters.txt, which would be lost", index.save, tmp_path)
    assert len(index) == 10
    index.save(tmp_path / "index")
    np.save(tmp_path / "index" / "ids.npy", np.arange(3))
    refused("damaged index", VectorIndex.load, tmp_path / "index")
    (tmp_path / "index" / "vectors.npy").write_bytes(b"\x93NUMPY")
    refused("damaged index", VectorIndex.load, tmp_path / "index")


def test_ids_tell_what_is_there_and_what_comes_next():
    index = VectorIndex(rows(5))
    index.remove([1, 4])
    index.remove([])
    assert (index.ids.tolist(), index.next_id, len(index)) == ([0, 2, 3], 5, 3)
    assert index.add(rows(2)[:0]).tolist() == []  # a day without new documents
    assert index.add(rows(1)).tolist() == [5]
    assert (index.ids.tolist(), index.next_id) == ([0, 2, 3, 5], 6)
    assert index.search(rows(0), 2)[0].shape == (0, 2)
