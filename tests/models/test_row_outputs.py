"""Rows are predicted with little padding, and with few shapes where XLA compiles each."""

import itertools

import keras
import numpy as np
import pytest

from keras_bert.models.row_outputs import _cut, _shapes, row_outputs
from keras_bert.preprocessing.batching import Batching

TEXTS = ["a b c d e f"] * 3 + ["a b"] * 8 + ["a b c d e f g h i j"]


@pytest.fixture(scope="module")
def classifier(make_case, make_backbone, varied):
    return varied(make_case("classes", make_backbone()))


def time_of(widths, cut, cost):
    starts = np.cumsum([0, *cut])[:-1]
    return sum(size * widths[start] + cost for start, size in zip(starts, cut, strict=True))


def test_no_way_to_cut_rows_takes_less_time():
    draw = np.random.default_rng(1)
    settings = itertools.product([(1, 2, 3, 4), (1, 2, 4), (3,)], (1, 4, 7), (1, 6, 40))
    for sizes, number, cost in settings:
        widths = np.sort(draw.integers(1, 20, number))[::-1]
        possible = [
            cut
            for count in range(1, number + 1)
            for cut in itertools.product(sizes, repeat=count)
            if sum(cut[:-1]) < number <= sum(cut)
        ]
        least = min(time_of(widths, cut, cost) for cut in possible)
        assert time_of(widths, _cut(widths, sizes, cost), cost) == least


def test_the_dearer_a_new_shape_the_fewer_shapes(monkeypatch):
    for kind, backend, expected in (
        ("CPU", "tensorflow", ("longest", [1, 2, 3, 4, 5, 6], 64)),
        ("CPU", "jax", ((8, 10, 12, 14, 16), [1, 2, 3, 4, 6], 128)),
        ("GPU", "jax", ((4, 8, 12, 16), [1, 2, 4, 6], 1024)),
        ("TPU", "jax", ("full", [1, 2, 4, 6], 96)),
    ):
        for module in ("models.row_outputs", "preprocessing.batching"):
            monkeypatch.setattr(f"keras_bert.{module}.device_kind", lambda kind=kind: kind)
        monkeypatch.setattr(keras.backend, "backend", lambda backend=backend: backend)
        batching, sizes, cost = _shapes(16, 6)
        assert (batching.pad_to, [*sizes], cost) == expected, (kind, backend)


def test_outputs_are_in_the_order_of_the_rows_whatever_the_shapes(
    monkeypatch, assert_close, classifier
):
    rows = classifier.preprocessor.read(TEXTS)
    expected = classifier.predict_on_batch(rows.as_batch()[0])
    for pad_to, sizes in (
        ("longest", range(1, 9)),
        ("full", (1, 2, 4, 8)),
        ([4, 8, 12, 16], (1, 2, 4, 8)),
    ):
        shapes = Batching(pad_to=pad_to).for_rows(16), sizes, 8
        monkeypatch.setattr("keras_bert.models.row_outputs._shapes", lambda *_, s=shapes: s)
        assert_close(row_outputs(classifier, rows, 16, 8, verbose=0), expected)


def test_a_callback_stops_the_prediction_of_rows(classifier, assert_close):
    class Stop(keras.callbacks.Callback):
        def on_predict_batch_end(self, batch, logs=None):
            self.model.stop_predicting = True

    rows = classifier.preprocessor.read(TEXTS)
    found = row_outputs(classifier, rows, 16, 4, verbose=0, callbacks=[Stop()])
    expected = row_outputs(classifier, rows, 16, 4, verbose=0)
    is_predicted = found.any(axis=1)
    assert is_predicted[-1] and not is_predicted[3]  # the longest is the first
    assert_close(found[is_predicted], expected[is_predicted])
