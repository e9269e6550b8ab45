from collections import deque

import numpy as np

from keras_bert import Batching
from keras_bert.data.data import prepared_batches
from keras_bert.preprocessing.batches import (
    row_batches,
    stream_batches,
)

LENGTHS = np.random.default_rng(0).integers(3, 33, size=200)
BUCKETS = (8, 16, 32)
X = {"token_ids": np.arange(10).reshape(5, 2)}
Y, WEIGHTS = np.arange(5), np.arange(5.0)


def batches_of(**options):
    """Batches whose inputs are the row numbers themselves."""
    return row_batches(LENGTHS, lambda rows: (rows,), Batching(16, **options).for_rows(32))


def batches(**options):
    return [rows.tolist() for rows in batches_of(**options)]


def test_every_row_is_in_one_batch_and_shuffled_among_all():
    buckets = {"bucket_lengths": BUCKETS}
    for options in ({}, buckets, {**buckets, "tokens_per_batch": 70}):
        for shuffle in (False, True):
            found = batches_of(shuffle=shuffle, seed=1, **options)
            assert len(found) == found.num_batches == len(list(found)) == len(list(found))
            rows = np.concatenate(list(found))
            assert sorted(rows) == list(range(200))
            is_far = np.abs(np.argsort(rows) - np.arange(200)).max() > 100  # not the next few alone
            assert options or is_far == shuffle


def test_a_batch_has_the_rows_of_a_bucket_that_make_up_its_size_or_tokens():
    for tokens, sizes in ((None, (16, 16, 16)), (70, (8, 4, 2))):
        counts = [[] for _ in BUCKETS]
        for rows in batches(bucket_lengths=BUCKETS, tokens_per_batch=tokens, shuffle=True, seed=1):
            [bucket] = set(np.searchsorted(BUCKETS, LENGTHS[rows]))
            counts[bucket].append(len(rows))
        for (*full, rest), size in zip(counts, sizes, strict=True):
            assert set(full) == {size} and rest <= size


def test_a_smaller_last_batch_is_optionally_left_out(refused):
    for options in ({}, {"bucket_lengths": BUCKETS}):
        found = batches_of(drop_remainder=True, **options)
        full = [rows for rows in batches(**options) if len(rows) == 16]
        assert [rows.tolist() for rows in found] == full and len(found) == len(full) > 8
    refused("fill no batch of 9", row_batches, [1], None, Batching(9, drop_remainder=True))


def test_epochs_differ_and_a_seed_repeats_for_keras_too():
    options = {"shuffle": True, "bucket_lengths": BUCKETS}
    passes, of_keras = batches_of(seed=3, **options), batches_of(seed=3, **options)
    epochs = [[rows.tolist() for rows in passes] for _ in range(2)]
    for epoch in epochs:
        assert [of_keras[index].tolist() for index in range(len(of_keras))] == epoch
        of_keras.on_epoch_end()
    assert epochs[0] != epochs[1]
    assert epochs[0] == batches(seed=3, **options) != batches(seed=4, **options)


class Chunk(list):
    """Row numbers, whose inputs are the numbers themselves."""

    num_sequences = 2

    def num_tokens(self):
        return LENGTHS[self]

    def batch(self, numbers, batching):
        return (np.array(self)[numbers],)


def stream(batching, own_sizes=None):
    """The batches of a stream of chunks of 17 rows."""
    chunks = [Chunk(range(start, min(start + 17, 200))) for start in range(0, 200, 17)]
    return [rows.tolist() for (rows,) in stream_batches(chunks, batching, own_sizes)]


def test_a_stream_has_the_batches_of_all_rows_or_its_own():
    buckets = {"bucket_lengths": BUCKETS}
    for options in ({}, {"drop_remainder": True}, buckets):
        assert stream(Batching(16, **options)) == batches(**options)
    of_pairs = Batching(16, tokens_per_batch=140, **buckets)
    assert stream(of_pairs) == batches(tokens_per_batch=70, **buckets)
    assert [*map(len, stream(Batching(16), deque([150, 1, 49])))] == [150, 1, 49]


def test_prepared_inputs_become_batches_also_a_dict_for_each_text():
    parts = list(prepared_batches(X, Y, WEIGHTS, Batching(2)))
    assert [len(y) for _, y, _ in parts] == [2, 2, 1]
    assert np.array_equal(np.concatenate([x["token_ids"] for x, _, _ in parts]), X["token_ids"])
    assert len(prepared_batches(X, Y, None, Batching(1, drop_remainder=True))) == 5
    [(first, second), _] = prepared_batches((X, X), Y, None, Batching(2))[1]
    assert first["token_ids"].tolist() == second["token_ids"].tolist() == [[4, 5], [6, 7]]
