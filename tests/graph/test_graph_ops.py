"""Functions of `graph_ops` give what those of that name in `numpy_ops` give, of few rows too.

Those that only rename a function of TensorFlow are compared by `test_graph_rows.py`.
"""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from keras_bert.graph import graph_ops
from keras_bert.preprocessing.text_words import _token_class
from keras_bert.text import numpy_ops

WORDS = ["", "a", "é", "中", "😀b", ".", "«", "龍", "$", "ab", "e\u0301"]


def texts_and_spans(generator, n):
    """Texts with spans between their characters, in characters and in bytes."""
    texts = ["".join(generator.choice(WORDS, 5)) for _ in range(n)]
    rows = generator.integers(0, n, 3 * n)
    lengths = np.array([len(texts[row]) for row in rows], "int64")
    spans = np.sort(generator.integers(0, lengths + 1, (2, 3 * n)), axis=0)
    bytes_ = np.zeros_like(spans)
    for (end, number), place in np.ndenumerate(spans):
        bytes_[end, number] = len(texts[rows[number]][:place].encode())
    return (texts, rows, *spans), (texts, rows, *bytes_)


def cases(generator, n):
    """Arguments for functions, of n rows: `{name: [arguments, ...]}`."""
    ints, counts = generator.integers(-5, 6, n), generator.integers(0, 4, n)
    floats = generator.normal(0, 3, n).astype("float32")
    grid = generator.normal(0, 3, (n, 4)).astype("float32")
    coarse, bools = np.round(grid), generator.random(n) < 0.5
    columns, segments = generator.integers(0, 4, (n, 3)), generator.integers(-1, 3, n)
    full = np.concatenate([np.arange(3), segments[segments >= 0]])  # no segment is empty
    of_segments = [(values, segments, 3) for values in (ints, floats, grid)]
    of_segments += [(columns, np.tile(segments[:, None], 3), 4)]
    return {
        "argmax": [(coarse, -1)],
        "searchsorted": [(np.cumsum(counts), ints, "left"), (np.cumsum(counts), ints, "right")],
        "flatnonzero": [(bools,), (ints > 9,)],
        "map_blocks": [(lambda rows: {"a": 2 * rows}, np.int64(n), 4, {"a": ("int64", [])})]
        if n
        else [],
        "max_or_zero": [(counts,)],
        "from_row_lengths": [(np.arange(counts.sum()), counts)],
        "unique_indices": [(np.sort(columns, axis=None).reshape(n, 3),)],
        "scatter_update": [(ints, np.flatnonzero(bools), -ints[bools])],
        "segment_max": of_segments,
        "segment_mean": [(np.resize(floats, len(full)), full, 3)] if n else [],
        "segment_min": of_segments,
        "segment_sum": of_segments,
        "smallest_at_least": [([4, 8, 16], np.int64(least)) for least in (1, 4, 5, 16)],
        "top_k": [(coarse, 1), (coarse, 3), (grid, 4)],
        "where": [(bools, ints, counts), (bools, floats, -1e30), (bools, 0, ints)],
    }


def as_tensor(value):
    return tf.constant(value) if isinstance(value, np.ndarray) else value


def test_arrays_and_tensors_give_the_same(same):
    for n in (0, 1, 40):
        generator = np.random.default_rng(n)
        for name, each in cases(generator, n).items():
            for arguments in each:
                found = getattr(graph_ops, name)(*map(as_tensor, arguments))
                same(found, getattr(numpy_ops, name)(*arguments), name=name, any_int=True)
        of_numpy, (texts, *of_graph) = texts_and_spans(generator, n)
        tensors = tf.constant(texts, tf.string), *map(tf.constant, of_graph)
        for name in ("substrings", "text_spans"):
            found = getattr(graph_ops, name)(*tensors)
            same(found, getattr(numpy_ops, name)(*of_numpy), name=name)


def test_every_character_is_of_the_same_kind():
    characters = [chr(code) for code in range(1, 0x32000) if not 0xD800 <= code < 0xE000]
    texts = [*WORDS, *characters]
    found = graph_ops.classify_strings(tf.constant(texts), _token_class)
    assert np.array_equal(found, numpy_ops.classify_strings(texts, _token_class))


def test_numpy_means_of_bfloat16():
    values = np.array([1, 3, 5], tf.bfloat16.as_numpy_dtype)
    means = numpy_ops.segment_mean(values, np.array([0, 0, 1]), 2)
    assert means.dtype == values.dtype and means.tolist() == [2, 5]
