from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.models.task_data import with_extra_inputs
from keras_bert.preprocessing.dataset_checks import with_input_checks

IDS = np.zeros((3, 4), "int32")
FEATURES = np.arange(6).reshape(3, 2)
slices = tf.data.Dataset.from_tensor_slices


@pytest.fixture(scope="module")
def model():
    """What of a task with two features is looked at."""
    ids, features = keras.Input((None,), name="token_ids"), keras.Input((2,), name="features")
    return SimpleNamespace(
        backbone=SimpleNamespace(
            input={"token_ids": ids}, vocabulary_size=9, num_segments=2, max_sequence_length=4
        ),
        input={"token_ids": ids, "features": features},
        takes_columns=False,
        takes_packed_rows=False,
    )


def test_datasets_of_prepared_inputs_are_checked_on_their_way(model):
    x = {"token_ids": IDS, "features": FEATURES.astype("float64")}
    for data in (x, (x, [0, 1, 2])):
        single, dataset = slices(data), slices(data).batch(2)
        assert with_extra_inputs(model, single) is single
        checked = with_input_checks(model, with_extra_inputs(model, dataset))
        spec = checked.element_spec if data is x else checked.element_spec[0]
        assert spec["features"].dtype == tf.float32
        assert len(list(checked)) == len(dataset)
    x["features"][2, 1] = np.inf
    with pytest.raises(tf.errors.InvalidArgumentError, match="features must be finite numbers"):
        list(with_input_checks(model, slices(x).batch(2)))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (["a"] * 3, r"takes features alongside text: give {'text': texts, 'features': \[n, 2\]"),
        (np.array(["a"] * 3), "takes features alongside text"),
        (slices(["a"]), "takes features alongside text"),
        ({"text": ["a"] * 3, "features": FEATURES[:, :1]}, r"must be \[n, 2\].*shape \(3, 1\)"),
        ({"text": ["a"] * 3, "features": [1, 2, 3]}, r"must be \[n, 2\].*shape \(3,\)"),
        (slices({"text": ["a"], "features": IDS[:1]}), r"must be \[n, 2\].*shape \(4,\)"),
        ({"text": ["a"], "features": [["x", "y"]]}, "must be numbers, a row.*table.numbers"),
    ],
)
def test_missing_or_misshapen_extra_inputs_are_refused(model, x, message):
    with pytest.raises(ValueError, match=message):
        with_extra_inputs(model, x)
