import numpy as np
import pytest
import tensorflow as tf

from keras_bert.preprocessing.dataset_checks import with_finite_check
from keras_bert.preprocessing.raw import checked_extra_input


def test_floats_become_float32_and_integers_stay():
    values = {"a": [[1, 2.5]], "b": np.array([1, 2]), "c": np.array([True]), "d": [3.0]}
    found = {name: checked_extra_input(name, value) for name, value in values.items()}
    assert [found[name].dtype for name in "abcd"] == ["float32", "int64", "bool", "float32"]
    in_graph = with_finite_check({name: tf.constant(np.asarray(v)) for name, v in values.items()})
    for name, array in found.items():
        assert in_graph[name].dtype == array.dtype and np.array_equal(in_graph[name], array)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2], [np.inf, 3]], "row 1 in column 0 is inf"),
        ([1.0, np.nan], "row 1 is nan"),
        ([["1", "x"]], "age must be an array of numbers with one row for each text.*'x'"),
        ([[1, 2], [3]], "age must be an array of numbers"),
        (["x", b"a\xff"], "age must be an array of numbers"),
        ([None], "age must be finite numbers.*row 0 is nan"),
    ],
)
def test_values_that_are_not_finite_numbers_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        checked_extra_input("age", values)


def test_a_number_that_is_not_finite_is_an_error_in_the_graph():
    with pytest.raises(tf.errors.InvalidArgumentError, match="age must be finite numbers"):
        with_finite_check({"age": tf.constant([1, np.nan])})
