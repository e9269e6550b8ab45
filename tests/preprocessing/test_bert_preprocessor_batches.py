"""`BertPreprocessor.batches`: texts, labels and weights as the batches that a model trains on."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import Batching
from keras_bert.preprocessing import texts as texts_page
from keras_bert.preprocessing.texts import in_parts

TEXTS = ["a b", "c", "d e f g h i j k l m", "", "b b b", "k l"]
SECONDS = ["m", "l k j i", "", "c", "a a", "h"]
LABELS = [3, 1, 4, 1, 5, 9]
WEIGHTS = [0.5, 1, 0, 2, 1, 1]
FULL = Batching(4, pad_to="full")


@pytest.fixture(scope="module")
def rows(preprocessor):
    """The texts, read once, with their places as labels."""
    return preprocessor.read(TEXTS, np.arange(6))


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


def test_extra_inputs_are_inputs_of_their_texts(preprocessor):
    numbers = np.arange(12.0).reshape(6, 2)
    x = {"text": TEXTS, "features": numbers}
    expected = {**preprocessor(TEXTS), "features": np.float32(numbers)}
    assert_equal(joined(preprocessor.batches(x, batching=FULL)), expected)
    numbers[4, 1] = np.nan
    with pytest.raises(ValueError, match="features must be finite numbers|features holds"):
        preprocessor.batches(x)


def test_labels_keep_their_values_and_type(preprocessor):
    scores = np.array([0.25, -1.5, 3, 1e-3, 7, 2], "float32")
    for labels in (scores, scores[:, None], scores.astype("float64"), LABELS):
        [_, found] = preprocessor.read(TEXTS, labels).batch(np.arange(6), FULL)
        assert np.array_equal(found, labels) and found.dtype == np.asarray(labels).dtype


def test_batches_are_padded_as_asked(preprocessor, rows):
    def lengths(pad_to, batch_size=2):
        batches = rows.batches(Batching(batch_size, pad_to=pad_to))
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
    batches = rows.batches(Batching(4, bucket_lengths=(4, 10)))
    found = {inputs["token_ids"].shape[1]: sorted(numbers.tolist()) for inputs, numbers in batches}
    assert found == {4: [0, 1, 3, 5], 10: [2, 4]}


def test_texts_that_are_shuffled_keep_their_labels(preprocessor, rows):
    batching = Batching(4, pad_to="full", shuffle=True, seed=1)
    inputs, numbers = joined(rows.batches(batching))
    assert_equal(inputs, {n: values[numbers] for n, values in preprocessor(TEXTS).items()})
    assert sorted(numbers) == list(range(6)) != numbers.tolist()


def test_without_labels_there_are_inputs_alone_perhaps_without_the_last(preprocessor):
    expected = preprocessor(TEXTS)
    assert_equal(joined(preprocessor.batches(TEXTS, batching=FULL)), expected)
    batches = preprocessor.batches(TEXTS, batching=Batching(4, pad_to="full", drop_remainder=True))
    [batch] = batches
    assert np.array_equal(batch["token_ids"], expected["token_ids"][:4])


def test_texts_are_cut_into_parts_of_bounded_size(preprocessor):
    x = {"text": (TEXTS, SECONDS), "features": np.arange(6)}
    parts = list(in_parts(preprocessor.listed(x), size=4))
    assert [len(part) for part in parts] == [4, 2]
    assert sum((part.columns[1] for part in parts), []) == SECONDS
    numbers = np.concatenate([part.extra_inputs["features"] for part in parts])
    assert numbers.tolist() == list(range(6))
    assert parts[1][0] == {"text": (TEXTS[4], SECONDS[4]), "features": 4}


def test_parts_of_long_texts_have_fewer(preprocessor, monkeypatch):
    monkeypatch.setattr(texts_page, "CHARACTERS_AT_ONCE", 10)
    texts = ["a" * length for length in (3, 4, 3, 12, 1, 1, 1, 1)]
    parts = [part.columns[0] for part in in_parts(preprocessor.listed(texts), size=3)]
    assert parts == [texts[:3], texts[3:4], texts[4:7], texts[7:]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "There are no texts"),
        ((TEXTS, LABELS, WEIGHTS[:4]), "6 examples but 4 labels or weights"),
        ((TEXTS, None, WEIGHTS), "weights but no labels: give y with sample_weight"),
        ((tf.data.Dataset.from_tensors("a"),), "give it to a verb of a task, such as fit"),
    ],
)
def test_labels_that_do_not_fit_are_refused(preprocessor, arguments, message, refused):
    refused(message, preprocessor.batches, *arguments)
