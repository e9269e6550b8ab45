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


def test_a_task_without_extra_inputs_takes_anything(model):
    plain = SimpleNamespace(backbone=model.backbone, input=model.backbone.input)
    x = ["a"]
    assert with_extra_inputs(plain, x) is x


def test_extra_inputs_become_arrays_of_finite_numbers(model):
    for x in ({"text": ["a"] * 3}, {"token_ids": IDS}):
        found = with_extra_inputs(model, {**x, "features": FEATURES.astype("float64").tolist()})
        assert found["features"].dtype == np.float32
        assert np.array_equal(found["features"], FEATURES)
        missing = FEATURES.astype("float64")
        missing[1, 0] = np.nan
        with pytest.raises(ValueError, match="that of row 1 in column 0 is nan"):
            with_extra_inputs(model, {**x, "features": missing})


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
        ({"text": ["a"], "features": [["x", "y"]]}, "must be an array of numbers.*table.numbers"),
    ],
)
def test_missing_or_misshapen_extra_inputs_are_refused(model, x, message):
    with pytest.raises(ValueError, match=message):
        with_extra_inputs(model, x)
