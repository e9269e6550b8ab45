"""`BertPreprocessor.batches`: texts, labels and weights as the batches that a model trains on."""

import numpy as np
import tensorflow as tf

from keras_bert import Batching
from keras_bert.preprocessing import texts as texts_page
from keras_bert.preprocessing.texts import in_parts

TEXTS = ["a b", "c", "d e f g h i j k l m", "", "b b b", "k l"]
SECONDS = ["m", "l k j i", "", "c", "a a", "h"]
LABELS = [3, 1, 4, 1, 5, 9]
WEIGHTS = [0.5, 1, 0, 2, 1, 1]
FULL = Batching(pad_to="full")


def test_batches_hold_what_a_call_makes_with_labels_and_weights(
    preprocessor, refused, assert_close
):
    numbers = np.arange(12.0).reshape(6, 2)
    with_numbers = {"text": TEXTS, "features": numbers}
    for x, expected in (
        ((TEXTS, SECONDS), preprocessor(TEXTS, SECONDS)),
        (with_numbers, {**preprocessor(TEXTS), "features": np.float32(numbers)}),
    ):
        assert_close([*preprocessor.batches(x, batching=FULL)], [expected])
        labelled = expected, np.array(LABELS), np.float32(WEIGHTS)
        assert_close([*preprocessor.batches(x, LABELS, WEIGHTS, batching=FULL)], [labelled])
    numbers[4, 1] = np.nan
    refused(
        "features must be finite numbers; got nan at .4, 1",
        preprocessor.batches,
        with_numbers,
    )


def test_texts_are_cut_into_parts_with_their_features(preprocessor):
    x = {"text": (TEXTS, SECONDS), "features": np.arange(6)}
    first, last = in_parts(preprocessor.listed(x), size=4)
    assert first.columns[1] + last.columns[1] == SECONDS
    assert last.extra_inputs["features"].tolist() == [4, 5]
    assert last[0] == {"text": (TEXTS[4], SECONDS[4]), "features": 4}


def test_parts_of_long_texts_have_fewer(preprocessor, monkeypatch):
    monkeypatch.setattr(texts_page, "CHARACTERS_AT_ONCE", 10)
    texts = ["a" * length for length in (3, 4, 3, 12, 1, 1, 1, 1)]
    parts = [part.columns[0] for part in in_parts(preprocessor.listed(texts), size=3)]
    assert parts == [texts[:3], texts[3:4], texts[4:7], texts[7:]]


def test_labels_that_do_not_fit_are_refused(preprocessor, refused):
    for message, *arguments in (
        ("6 examples but 4 labels or weights", TEXTS, LABELS, WEIGHTS[:4]),
        ("weights but no labels: give y with sample_weight", TEXTS, None, WEIGHTS),
        ("give it to a verb of a task, such as fit", tf.data.Dataset.from_tensors("a")),
    ):
        refused(message, preprocessor.batches, *arguments)
