import numpy as np
import pytest

from keras_bert.preprocessing.row_batches import quarters, row_batches

LENGTHS = np.random.default_rng(0).integers(3, 33, size=200)
BUCKETS = (8, 16, 32)


def batches(**options):
    return [rows.tolist() for rows in row_batches(LENGTHS, 16, **options).as_numpy_iterator()]


def test_every_row_is_in_one_batch_whatever_the_batching():
    for options in ({}, {"bucket_lengths": BUCKETS}):
        for shuffle in (False, True):
            found = batches(shuffle=shuffle, seed=1, **options)
            assert sorted(sum(found, [])) == list(range(200))
            assert max(map(len, found)) == 16


def test_a_bucket_holds_rows_that_need_the_same_length():
    edges = np.array([0, *BUCKETS])
    found = batches(bucket_lengths=BUCKETS, shuffle=True, seed=1)
    needed = [set(np.searchsorted(edges, LENGTHS[rows])) for rows in found]
    assert all(len(of_batch) == 1 for of_batch in needed)
    assert len(set.union(*needed)) == 3
    assert [len(rows) for rows in found].count(16) >= len(found) - 3  # the rest of each bucket


def test_a_batch_has_as_many_rows_as_make_up_its_tokens():
    found = batches(bucket_lengths=BUCKETS, tokens_per_batch=70, shuffle=True, seed=1)
    for rows in found:
        padded = min(b for b in BUCKETS if b >= LENGTHS[rows].max())
        assert len(rows) * padded <= 70
    assert {len(rows) for rows in found} >= {70 // b for b in BUCKETS}


def test_the_longest_come_first_and_equals_in_their_order():
    rows = sum(batches(longest_first=True), [])
    assert rows == sorted(range(200), key=lambda row: -LENGTHS[row])


def test_quarters_are_rounded_up():
    assert quarters(512) == [128, 256, 384, 512]
    assert quarters(9) == [3, 5, 7, 9]
    assert quarters(2) == [1, 2]


@pytest.mark.parametrize("tokens_per_batch", [None, 70])
def test_the_number_of_batches_is_known(tokens_per_batch):
    options = {"bucket_lengths": BUCKETS, "tokens_per_batch": tokens_per_batch}
    dataset = row_batches(LENGTHS, 16, shuffle=True, **options)
    assert int(dataset.cardinality()) == len(list(dataset))


@pytest.mark.parametrize("options", [{}, {"bucket_lengths": BUCKETS}])
def test_batches_of_fewer_rows_are_left_out_on_wish(options):
    dataset = row_batches(LENGTHS, 16, drop_remainder=True, **options)
    found = list(dataset.as_numpy_iterator())
    assert int(dataset.cardinality()) == len(found) > 8
    assert {len(rows) for rows in found} == {16}
    assert dataset.element_spec.shape == (16,) or options
    whole = [rows for rows in batches(**options) if len(rows) == 16]
    assert [rows.tolist() for rows in found] == whole


def test_epochs_differ_and_a_seed_repeats():
    options = {"shuffle": True, "bucket_lengths": BUCKETS}
    dataset = row_batches(LENGTHS, 16, seed=3, **options)
    first, second = ([rows.tolist() for rows in dataset.as_numpy_iterator()] for _ in range(2))
    assert first != second
    assert first == batches(seed=3, **options) != batches(seed=4, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bucket_lengths": (8, 16)}, "the largest of them at least 32.*got .8, 16."),
        ({"bucket_lengths": ()}, "positive"),
        ({"bucket_lengths": (0, 32)}, "positive"),
        ({"tokens_per_batch": 64}, "tokens_per_batch needs bucket_lengths"),
        ({"bucket_lengths": BUCKETS, "tokens_per_batch": 31}, "leaves no room for a row"),
    ],
)
def test_lengths_that_do_not_do_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        row_batches(LENGTHS, 16, **options)
