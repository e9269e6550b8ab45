"""Each function of `graph_ops` gives what the function of that name in `numpy_ops` gives."""

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
    ends = [int(generator.integers(0, len(texts[row]) + 1)) for row in rows]
    spans = [(int(generator.integers(0, end + 1)), end) for end in ends]
    pairs = zip(rows, spans, strict=True)
    bytes_ = [[len(texts[row][:place].encode()) for place in span] for row, span in pairs]
    of_numpy = texts, rows, *np.array(spans, "int64").reshape(-1, 2).T
    return of_numpy, (texts, rows, *np.array(bytes_, "int64").reshape(-1, 2).T)


def cases(generator, n):
    """Arguments for every function, of n rows: `{name: [arguments, ...]}`."""
    ints, counts = generator.integers(-5, 6, n), generator.integers(0, 4, n)
    floats = generator.normal(0, 3, n).astype("float32")
    grid = generator.normal(0, 3, (n, 4)).astype("float32")
    coarse, bools = np.round(grid), generator.random(n) < 0.5
    numbers = generator.integers(0, n, 5 * min(n, 1))
    columns, segments = generator.integers(0, 4, (n, 3)), generator.integers(-1, 3, n)
    full = np.concatenate([np.arange(3), segments[segments >= 0]])  # no segment is empty
    words = np.array(generator.choice(WORDS, n).tolist(), object)
    of_segments = [(values, segments, 3) for values in (ints, floats, grid)]
    of_segments += [(columns, np.tile(segments[:, None], 3), 4)]
    return {
        "arange": [(n,)],
        "argmax": [(coarse, -1)],
        "array": [([True, False],), ([3, -1],)],
        "cast": [(ints, "int32"), (bools, "float32"), (ints, "bool")],
        "concat": [([ints, counts], 0), ([grid, coarse[:, :2]], 1)],
        "cumsum": [(ints,), (columns, 1)],
        "searchsorted": [(np.cumsum(counts), ints, "left"), (np.cumsum(counts), ints, "right")],
        "exp": [(floats,)],
        "flatnonzero": [(bools,), (ints > 9,)],
        "full": [([n], -1e30, "float32"), ([1], True, "bool"), ([n, 2], 3, "int64")],
        "map_blocks": [(lambda rows: {"a": 2 * rows}, np.int64(n), 4, {"a": ("int64", [])})]
        if n
        else [],
        "classify_strings": [(words, _token_class)],
        "log": [(np.abs(floats) + 1,)],
        "logsumexp": [(grid,), (np.minimum(grid, -1e30),)],
        "maximum": [(ints, counts), (ints, 2), (floats, -1e30)],
        "max_or_zero": [(counts,)],
        "minimum": [(ints, counts), (ints, 2), (floats, 0.5)],
        "from_row_lengths": [(np.arange(counts.sum()), counts)],
        "unique_indices": [(np.sort(columns, axis=None).reshape(n, 3),)],
        "repeat": [(ints, counts), (ints, 3)],
        "scatter_update": [(ints, np.flatnonzero(bools), -ints[bools])],
        "reshape": [(grid, [-1]), (grid, [n, 2, 2])],
        "row_sums": [(columns,), (columns > 1,)],
        "segment_max": of_segments,
        "segment_mean": [(np.resize(floats, len(full)), full, 3)] if n else [],
        "segment_min": of_segments,
        "segment_sum": of_segments,
        "sigmoid": [(floats,), (100 * floats,)],
        "num_rows": [(ints,), (grid,)],
        "smallest_at_least": [([4, 8, 16], np.int64(least)) for least in (1, 4, 5, 16)],
        "softmax": [(grid,), (30 * grid,)],
        "stack": [([ints, counts], 1), ([grid, coarse], 1)],
        "strings": [(WORDS,)],
        "take": [(grid, numbers), (ints, numbers)],
        "gather_nd": [(grid, numbers, numbers % 4)],
        "take_columns": [(grid, np.array([[0, 3], [2, 2]]))],
        "take_along_axis": [(grid, columns)],
        "top_k": [(coarse, 1), (coarse, 3), (grid, 4)],
        "where": [(bools, ints, counts), (bools, floats, -1e30), (bools, 0, ints)],
        "num_columns": [(grid,)],
    }


def as_tensors(value):
    if isinstance(value, np.ndarray):
        is_text = value.dtype == object
        return tf.constant(value.tolist(), tf.string) if is_text else tf.constant(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return [*map(as_tensors, value)]
    return value


def test_arrays_and_tensors_give_the_same(same):
    for n in (0, 1, 40):
        generator = np.random.default_rng(n)
        for name, each in cases(generator, n).items():
            for arguments in each:
                found = getattr(graph_ops, name)(*map(as_tensors, arguments))
                same(found, getattr(numpy_ops, name)(*arguments), name=name, any_int=True)
        of_numpy, of_graph = texts_and_spans(generator, n)
        tensors = tf.constant(of_graph[0], tf.string), *map(tf.constant, of_graph[1:])
        for name in ("substrings", "text_spans"):
            found = getattr(graph_ops, name)(*tensors)
            same(found, getattr(numpy_ops, name)(*of_numpy), name=name)


def test_every_character_is_of_the_same_kind():
    characters = [chr(code) for code in range(1, 0x32000) if not 0xD800 <= code < 0xE000]
    found = graph_ops.classify_strings(tf.constant(characters), _token_class)
    assert np.array_equal(found, numpy_ops.classify_strings(characters, _token_class))


def test_numpy_means_of_bfloat16():
    values = np.array([1, 3, 5], tf.bfloat16.as_numpy_dtype)
    means = numpy_ops.segment_mean(values, np.array([0, 0, 1]), 2)
    assert means.dtype == values.dtype and means.tolist() == [2, 5]
