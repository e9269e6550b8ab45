"""Functions of `graph_ops` give what those of that name in `numpy_ops` give, of few rows too.

Those that cut texts, or only rename a function of TensorFlow, are compared by `test_graph_rows.py`.
"""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from keras_bert.graph import graph_ops
from keras_bert.preprocessing.text_words import _token_class
from keras_bert.text import numpy_ops

WORDS = ["", "a", "é", "中", "😀b", ".", "«", "龍", "$", "ab", "e\u0301"]


def cases(generator, n):
    """Yields functions with arguments of n rows."""
    ints = generator.integers(-5, 6, n)
    grid = np.round(generator.normal(0, 3, (n, 4)).astype("float32"))  # with ties
    columns, segments = generator.integers(0, 4, (n, 3)), generator.integers(-1, 3, n)
    yield "argmax", grid, -1
    yield "top_k", grid, 1
    yield "top_k", grid, 3
    yield "unique_indices", np.sort(columns, axis=None).reshape(n, 3)
    for name in ("segment_max", "segment_min", "segment_sum"):
        yield name, ints, segments, 3
        yield name, grid, segments, 3
        yield name, columns, np.tile(segments[:, None], 3), 4
    for least in (1, 4, 5, 16):
        yield "smallest_at_least", [4, 8, 16], np.int64(least)
    if n:
        full = np.concatenate([np.arange(3), segments[segments >= 0]])  # no segment is empty
        yield "segment_mean", np.resize(grid, len(full)), full, 3
        yield (
            "map_blocks",
            lambda rows: {"a": 2 * rows},
            np.int64(n),
            4,
            {"a": ("int64", [])},
        )


def as_tensor(value):
    return tf.constant(value) if isinstance(value, np.ndarray) else value


def test_arrays_and_tensors_give_the_same(same):
    for n in (0, 1, 40):
        for name, *arguments in cases(np.random.default_rng(n), n):
            found = getattr(graph_ops, name)(*map(as_tensor, arguments))
            same(found, getattr(numpy_ops, name)(*arguments), name=name, any_int=True)


def test_every_character_is_of_the_same_kind():
    characters = [chr(code) for code in range(1, 0x32000) if not 0xD800 <= code < 0xE000]
    texts = [*WORDS, *characters]
    found = graph_ops.classify_strings(tf.constant(texts), _token_class)
    assert np.array_equal(found, numpy_ops.classify_strings(texts, _token_class))


def test_numpy_means_of_bfloat16():
    values = np.array([1, 3, 5], tf.bfloat16.as_numpy_dtype)
    means = numpy_ops.segment_mean(values, np.array([0, 0, 1]), 2)
    assert means.dtype == values.dtype and means.tolist() == [2, 5]
