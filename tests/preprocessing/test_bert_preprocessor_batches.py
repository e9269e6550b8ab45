"""`BertPreprocessor.batches`: texts, labels and weights as the batches that a model trains on."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import Batching, BertClassifierPreprocessor
from keras_bert.preprocessing import texts as texts_page

TEXTS = ["a b", "c", "d e f g h i j k l m", "", "b b b", "k l"]
SECONDS = ["m", "l k j i", "", "c", "a a", "h"]
LABELS = [3, 1, 4, 1, 5, 9]
WEIGHTS = [0.5, 1, 0, 2, 1, 1]
FULL = Batching(4, pad_to="full")


@pytest.fixture(scope="module")
def rows(preprocessor):
    """The texts, read once, with their places as labels."""
    return preprocessor.read(TEXTS, np.arange(6))


def slices(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])


def joined(batches):
    """All batches as one."""
    return tf.nest.map_structure(lambda *parts: np.concatenate(parts), *batches)


def assert_equal(found, expected):
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("x", [TEXTS, (TEXTS, SECONDS)])
def test_batches_hold_what_a_call_makes_with_labels_and_weights(preprocessor, x):
    texts = x if isinstance(x, tuple) else (x,)
    expected = (preprocessor(*texts), np.array(LABELS), np.float32(WEIGHTS))
    assert_equal(joined(preprocessor.batches(x, LABELS, WEIGHTS, batching=FULL)), expected)
    for data in (slices(x, LABELS, WEIGHTS), slices(x, LABELS, WEIGHTS).batch(5)):
        dataset = preprocessor.batches(data, batching=FULL)
        assert dataset.element_spec[0]["token_ids"].shape == (None, 10)
        assert_equal(joined(dataset), expected)


def test_extra_inputs_are_inputs_of_their_texts(preprocessor):
    numbers = np.arange(12.0).reshape(6, 2)
    x = {"text": TEXTS, "features": numbers}
    expected = {**preprocessor(TEXTS), "features": np.float32(numbers)}
    for data in (x, slices(x)):
        assert_equal(joined(preprocessor.batches(data, batching=FULL)), expected)
    numbers[4, 1] = np.nan
    with pytest.raises(tf.errors.InvalidArgumentError, match="features must be finite numbers"):
        list(preprocessor.batches(slices(x)))


def test_labels_keep_their_values_and_type(preprocessor):
    scores = np.array([0.25, -1.5, 3, 1e-3, 7, 2], "float32")
    for labels in (scores, scores[:, None], scores.astype("float64"), LABELS):
        [_, found] = preprocessor.read(TEXTS, labels).batch(np.arange(6), FULL)
        assert np.array_equal(found, labels) and found.dtype == np.asarray(labels).dtype


def test_labels_of_a_dataset_have_any_rank(preprocessor):
    def unknown(text):
        return text, tf.py_function(lambda: tf.constant([1.0, 2.0]), [], tf.float32)

    data = slices(TEXTS).map(unknown).batch(2, drop_remainder=True)
    found = preprocessor.batches(data, batching=Batching(2))
    assert [labels.shape for _, labels in found] == [(2, 2)] * 3


def test_batches_are_padded_as_asked(preprocessor, rows):
    def lengths(pad_to, batch_size=2):
        batches = preprocessor.batched(rows, Batching(batch_size, pad_to=pad_to))
        whole = preprocessor(TEXTS)
        for inputs, numbers in batches:
            length = inputs["token_ids"].shape[1]
            assert all(np.array_equal(inputs[n], whole[n][numbers, :length]) for n in whole)
            assert not whole["padding_mask"][numbers, length:].any()
        return [inputs["token_ids"].shape[1] for inputs, _ in batches]

    assert lengths("full") == [10, 10, 10]
    assert lengths("longest") == [4, 10, 5]
    assert lengths("longest", 1) == [4, 3, 10, 2, 5, 4]
    assert lengths((5,), 1) == [5, 5, 10, 5, 5, 5]  # the whole length is always one of them


def test_buckets_pad_their_batches_to_their_lengths(preprocessor, rows):
    batches = preprocessor.batched(rows, Batching(4, bucket_lengths=(4, 10)))
    found = {inputs["token_ids"].shape[1]: sorted(numbers.tolist()) for inputs, numbers in batches}
    assert found == {4: [0, 1, 3, 5], 10: [2, 4]}


def test_texts_that_are_shuffled_keep_their_labels(preprocessor, rows):
    batching = Batching(4, pad_to="full", shuffle=True, seed=1)
    inputs, numbers = joined(preprocessor.batched(rows, batching))
    assert_equal(inputs, {n: values[numbers] for n, values in preprocessor(TEXTS).items()})
    assert sorted(numbers) == list(range(6)) != numbers.tolist()


def test_a_dataset_keeps_its_order_and_can_not_be_sorted(preprocessor):
    dataset = slices(TEXTS, LABELS)
    batches = preprocessor.batches(dataset, batching=Batching(4, shuffle=True, seed=1))
    assert joined(batches.map(lambda x, y: y)).tolist() == LABELS
    with pytest.raises(ValueError, match="leave out bucket_lengths"):
        preprocessor.batches(dataset, batching=Batching(bucket_lengths=(5, 10)))


@pytest.mark.parametrize("x", [TEXTS, slices(TEXTS), slices(TEXTS).batch(5)])
def test_without_labels_there_are_inputs_alone_perhaps_without_the_last(preprocessor, x):
    expected = preprocessor(TEXTS)
    assert_equal(joined(preprocessor.batches(x, batching=FULL)), expected)
    batches = preprocessor.batches(x, batching=Batching(4, pad_to="full", drop_remainder=True))
    [batch] = batches
    assert np.array_equal(batch["token_ids"], expected["token_ids"][:4])
    if x is not TEXTS:
        assert batches.element_spec["token_ids"].shape == (4, 10)


def test_a_dataset_is_read_in_a_graph_and_not_autotuned_which_delays_its_end(tokenizer):
    preprocessor = BertClassifierPreprocessor(tokenizer, sequence_length=10)
    dataset = preprocessor.batches(slices(TEXTS, LABELS), batching=FULL)
    graph = dataset._as_serialized_graph().numpy()
    assert b"ParallelMapDataset" in graph and b"PyFunc" not in graph
    assert dataset.options().autotune.enabled is False


def test_texts_are_cut_into_parts_of_bounded_size(preprocessor):
    x = {"text": (TEXTS, SECONDS), "features": np.arange(6)}
    parts = list(preprocessor.parts(x, size=4))
    assert [len(part) for part in parts] == [4, 2]
    assert sum((part.columns[1] for part in parts), []) == SECONDS
    numbers = np.concatenate([part.extra_inputs["features"] for part in parts])
    assert numbers.tolist() == list(range(6))
    assert parts[1][0] == {"text": (TEXTS[4], SECONDS[4]), "features": 4}


def test_parts_of_long_texts_have_fewer(preprocessor, monkeypatch):
    monkeypatch.setattr(texts_page, "CHARACTERS_AT_ONCE", 10)
    texts = ["a" * length for length in (3, 4, 3, 12, 1, 1, 1, 1)]
    parts = [part.columns[0] for part in preprocessor.parts(texts, size=3)]
    assert parts == [texts[:3], texts[3:4], texts[4:7], texts[7:]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "There are no texts"),
        ((TEXTS, LABELS, WEIGHTS[:4]), "6 examples but 4 labels or weights"),
        ((TEXTS, None, WEIGHTS), "weights but no labels: give y with sample_weight"),
        ((slices(TEXTS), LABELS), "yields its labels and weights"),
        ((slices(TEXTS, SECONDS),), "Labels must be numbers; the dataset yields strings"),
    ],
)
def test_labels_that_do_not_fit_are_refused(preprocessor, arguments, message, refused):
    refused(message, preprocessor.batches, *arguments)
