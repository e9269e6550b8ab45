"""Packing of examples into rows."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import (
    Batching,
    BertClassifierPreprocessor,
    BertEmbedderPreprocessor,
    BertPreprocessor,
)
from keras_bert.preprocessing.packed_batches import best_fit

LENGTHS = np.random.default_rng(0).integers(3, 60, 500)
LETTERS = [*"abcdefghijklmnopqrstuvwxyz"]


@pytest.mark.parametrize("options", [{}, {"sequences_per_row": 2}, {"seed": 3}])
def test_every_sequence_is_in_one_row_and_no_row_is_too_long(options):
    rows = best_fit(LENGTHS, 64, **options)
    assert sorted(rows[rows >= 0]) == list(range(500))
    assert np.where(rows >= 0, LENGTHS[rows], 0).sum(axis=1).max() <= 64
    assert rows.shape[1] == (2 if "sequences_per_row" in options else (rows >= 0).sum(1).max())
    for row in rows:
        used = row[row >= 0]
        assert list(used) == sorted(used) and (row[len(used) :] == -1).all()
    assert (np.diff(rows[:, 0]) > 0).all()


def test_a_seed_repeats_and_changes_the_packing_but_not_the_number_of_rows():
    first, again, other = (best_fit(LENGTHS, 64, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert len(other) == len(first) and not np.array_equal(first, other)


def test_a_longest_sequence_has_a_row_of_its_own_and_there_may_be_one():
    assert best_fit([5, 5, 2], 5).tolist() == [[0], [1], [2]]
    assert best_fit([3], 5).tolist() == [[0]]


@pytest.mark.parametrize("mean, spread", [(53, 17), (27, 11), (13, 8)])  # MRPC, CoLA-like, SST-2
def test_at_least_97_percent_of_rows_are_tokens(mean, spread):
    lengths = np.random.default_rng(1).normal(mean, spread, 4000).round().clip(3, 128).astype(int)
    assert lengths.sum() / (128 * len(best_fit(lengths, 128))) >= 0.97


def texts_of(count, rng):
    return [" ".join(rng.choice(LETTERS, rng.integers(1, 9))) for _ in range(count)]


def rows_of(inputs):
    """The token and segment ids of each sequence of packed or padded inputs."""
    numbers = inputs.get("sequence_ids", inputs.get("padding_mask"))
    rows = zip(inputs["token_ids"], inputs["segment_ids"], numbers, strict=True)
    for tokens, segments, ids in rows:
        for number in range(1, ids.max() + 1):
            yield tuple(tokens[ids == number]), tuple(segments[ids == number])


def packed_labels(batch, expected, weights):
    """The labels of a batch, which are the numbers of its sequences among the expected ones."""
    inputs, own, weight = batch
    used = np.arange(own.shape[1]) < inputs["sequence_ids"].max(axis=1, keepdims=True)
    assert [expected[number] for number in own[used]] == list(rows_of(inputs))
    np.testing.assert_array_equal(weight, np.where(used, weights[own], 0))
    return own[used].tolist()


def test_packed_rows_hold_the_sequences_of_padded_rows_in_new_orders(tokenizer):
    rng = np.random.default_rng(0)
    texts, pairs = texts_of(50, rng), texts_of(50, rng)
    preprocessor = BertClassifierPreprocessor(tokenizer, sequence_length=24)
    labels, weights = np.arange(50), np.linspace(0.5, 2, 50, dtype="float32")
    data = ((texts, pairs), labels, weights)
    packed = preprocessor.batches(*data, batching=Batching(4, shuffle=True, seed=1, packed=True))
    [(padded, *_)] = preprocessor.batches(*data, batching=Batching(50))
    assert len(packed) == len(list(packed))
    for inputs, _, _ in packed:
        assert inputs["token_ids"].shape[1] == 24
        starts = np.take_along_axis(inputs["token_ids"], inputs["cls_positions"], axis=1)
        assert (starts == tokenizer.cls_token_id).all()
    expected = list(rows_of(padded))
    epochs = [sum((packed_labels(b, expected, weights) for b in packed), []) for _ in range(2)]
    assert epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == list(range(50))


def test_texts_without_labels_are_packed(tokenizer):
    [inputs] = BertPreprocessor(tokenizer, 8).batches(["a b", "c"], batching=Batching(packed=True))
    assert inputs.keys() == {"token_ids", "segment_ids", "sequence_ids"}
    assert inputs["sequence_ids"].tolist() == [[1] * 4 + [2] * 3 + [0]]


def test_other_tasks_and_numbers_alongside_text_refuse_to_pack(tokenizer, refused):
    packed, x = Batching(packed=True), {"text": ["a", "b"], "features": [[1.0], [2.0]]}
    embedder, classifier = (
        kind(tokenizer) for kind in (BertEmbedderPreprocessor, BertClassifierPreprocessor)
    )
    message = "BertEmbedderPreprocessor makes no packed rows"
    refused(message, embedder.batches, ["a"], batching=packed)
    refused("features can't be packed", classifier.batches, x, batching=packed)
    stream = tf.data.Dataset.from_tensor_slices((["a", "b"], [0, 1]))
    refused("Texts of a dataset can't be packed", classifier.batches, stream, batching=packed)
