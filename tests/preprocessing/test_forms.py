import numpy as np
import pytest
import tensorflow as tf

pd = pytest.importorskip("pandas", reason='pip install ".[dev]"')

from keras_bert.data.prepared_inputs import finite_floats
from keras_bert.data.translators import rows_of
from keras_bert.preprocessing.checked_numbers import extra_input_array
from keras_bert.preprocessing.forms import is_raw

slices = tf.data.Dataset.from_tensor_slices
IDS = np.zeros((3, 4), "int32")

RAW = [  # other than in `test_text_examples.py`
    *(
        "a b",
        b"a b",
        [],
        pd.Series(["a"], dtype="string"),
        [{"question": "a", "context": "b"}],
    ),
    *(
        {"text": ["a"], "features": IDS},
        slices({"text": ["a"]}),
        slices((["a"], [1])).batch(1),
    ),
]
PREPARED = [
    *(
        IDS,
        [1, 2],
        {"token_ids": IDS},
        tf.constant(IDS),
        None,
        pd.Series([1]),
        pd.DataFrame([1]),
    ),
    slices(({"token_ids": IDS}, ["a", "b", "c"])),
]


def test_raw_examples_are_told_from_prepared_inputs():
    assert [x for x in RAW if not is_raw(x)] == [x for x in PREPARED if is_raw(x)] == []


def test_columns_of_rows_have_one_length(refused):
    for columns in ({"a": [1], "b": 1}, {"a": 1}):
        refused("lists of the same length", rows_of, columns)


def test_floats_become_float32_and_integers_stay():
    for given, dtype in (([[1, 2.5]], "float32"), ([1, 2], "int64"), ([True], "bool")):
        array = extra_input_array("x", given)
        tensor = finite_floats({"x": tf.constant(np.array(given))})["x"]
        assert array.dtype == tensor.dtype == dtype
        assert array.tolist() == tensor.numpy().tolist() == given


def test_values_that_are_not_finite_numbers_are_named(refused):
    for values, message in (
        ([[1, 2], [np.inf, 3]], "got inf at .1, 0"),
        ([["1", "x"]], "age must be numbers, a row for each text.*'x'"),
        ([[1, 2], [3]], "age must be numbers, a row"),
        ([None], "age must be finite numbers; got nan at .0"),
    ):
        refused(message, extra_input_array, "age", values)
