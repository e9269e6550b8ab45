import dataclasses

import keras
import numpy as np

from keras_bert import Batching
from keras_bert.text import numpy_ops


def test_the_dearer_a_new_shape_the_fewer_shapes(monkeypatch):
    for backend, kind, pad_to, drop in (
        ("tensorflow", "CPU", "longest", False),
        ("tensorflow", "GPU", (3, 5, 7, 9), False),
        ("jax", "CPU", (8, 9), False),
        ("jax", "TPU", "full", True),
    ):
        monkeypatch.setattr("keras_bert.preprocessing.batching.device_kind", lambda k=kind: k)
        monkeypatch.setattr(keras.backend, "backend", lambda b=backend: b)
        settled = Batching().for_rows(9)  # a quarter is rounded up
        assert (settled.pad_to, settled.drop_remainder) == (pad_to, drop), (backend, kind)
        for drops in (True, False):
            chosen = Batching(pad_to=(100,), drop_remainder=drops)
            assert chosen.for_rows(128) == chosen


def test_rows_are_padded_to_the_smallest_length_that_holds_them():
    for options, widths in (
        ({"pad_to": "full"}, [10, 10, 10]),
        ({"pad_to": "longest"}, [1, 4, 10]),
        ({"pad_to": (5,)}, [5, 5, 10]),  # the whole length is always one of them
        ({"bucket_lengths": (4, 10)}, [4, 4, 10]),
    ):
        lengths = map(np.int64, ([], [2, 4], [10]))
        assert [Batching(**options).width(each, 10, numpy_ops) for each in lengths] == widths


def test_evaluation_keeps_every_example_in_order():
    batching = Batching(8, shuffle=True, seed=1, drop_remainder=True, bucket_lengths=(8, 16))
    found = batching.for_evaluation()
    assert (found.shuffle, found.drop_remainder) == (False, False)
    assert dataclasses.replace(found, shuffle=True, drop_remainder=True) == batching


def test_sizes_that_are_invalid_are_refused(refused):
    for options, message in (
        ({"pad_to": "shortest"}, "one of 'auto', 'longest', 'full'.*got 'shortest'"),
        ({"pad_to": [0, 8]}, r"lengths of at least 1.*got \[0, 8\]"),
        ({"tokens_per_batch": 64}, "tokens_per_batch needs bucket_lengths"),
        ({"bucket_lengths": (8, 32), "tokens_per_batch": 31}, "at least 32; got 31"),
    ):
        refused(message, Batching, **options)
    short = Batching(bucket_lengths=(16, 8))
    assert short.for_rows(16).bucket_lengths == (16, 8)
    refused(r"bucket_lengths must reach 32.* got \(16, 8\)", short.for_rows, 32)


def test_lengths_may_be_an_array_or_an_iterator():
    for make in (np.array, iter):
        assert Batching(pad_to=make([8, 16])).pad_to == (8, 16)
        assert Batching(bucket_lengths=make([8, 16])).for_rows(16).bucket_lengths == (
            8,
            16,
        )
