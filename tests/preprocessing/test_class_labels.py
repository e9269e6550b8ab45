from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.preprocessing.bert_multiple_choice_preprocessor import choice_targets
from keras_bert.preprocessing.checked_numbers import extra_input_array, weight_arrays
from keras_bert.preprocessing.class_labels import (
    as_label_names,
    class_targets,
    class_weights,
    label_matrix,
    regression_targets,
    weighted_by_class,
)
from keras_bert.preprocessing.data import InputArrays

NAMES = ["bad", "fine", "good"]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda x: np.array(x, object)])
def test_names_become_numbers(form, refused):
    for labels in (["good", "bad", "fine"], [b"good", b"bad", b"fine"], [2, 0, 1]):
        assert class_targets(form(labels), NAMES).tolist() == [2, 0, 1]
    for label in ("godo", b"good\xff", None, 1.5):
        wrong = np.array(["good", label], object)
        refused("Label 1 is .*the 3 classes: bad, fine, good", class_targets, wrong, NAMES)


def test_a_number_is_a_name_where_names_are_digits(refused):
    names = ["1", "2", "3"]
    for labels in ([1, 3], [1.0, 3.0], ["1", "3"]):
        assert class_targets(labels, names).tolist() == [0, 2]
    assert class_weights({1: 2.0}, names).tolist() == [2, 1, 1]
    refused("Label 1 is .*the 3 classes: 1, 2, 3", class_targets, [1, 0], names)
    for given, expected, is_regression in (
        ([0, 2], ["1", "3"], False),
        (["1", "3"], ["1", "3"], False),
        ([0.5, 2], [0.5, 2], True),
    ):
        reader = SimpleNamespace(label_names=names, is_regression=is_regression)
        task = SimpleNamespace(preprocessor=reader)
        batch = InputArrays.of_batch(task, ({}, np.array(given)))  # which holds class numbers
        assert batch.y.tolist() == expected


def test_names_may_be_numbers_in_their_places(refused):
    assert as_label_names(np.arange(2)) == ["0", "1"] and as_label_names([False, True])
    for names in ([1, 0], [True, False], ["a", "a"], []):
        refused("or numbers in their places", as_label_names, names)


@pytest.mark.parametrize("blank", ["", " ", np.str_("")])
def test_an_empty_cell_is_no_class(blank, refused):
    names = sorted({"good", blank, "bad"})
    refused("names that differ.*an empty cell", as_label_names, names)


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_labels_weights_and_scores_may_be_floats_of_any_width(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([1, 0, 1]).astype(ml_dtypes.finfo(dtype).dtype)
    for names in (["no", "yes"], None):
        targets = class_targets(values, names)
        assert targets.tolist() == [1, 0, 1] and targets.dtype == "int64"
    targets = regression_targets(values, ["score"])
    assert targets.tolist() == [1, 0, 1] and targets.dtype == "float64"
    assert label_matrix(values[:, None], ["a"]).tolist() == [[1], [0], [1]]
    assert weight_arrays(values).dtype == extra_input_array("x", values).dtype == "float32"


def test_several_labels_become_zeros_and_ones():
    expected = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    for labels in ([["good", "bad"], [], ["fine"]], expected, np.array(expected, bool)):
        matrix = label_matrix(labels, NAMES)
        assert matrix.tolist() == expected and matrix.dtype == np.float32
    assert label_matrix([[], []], NAMES).tolist() == [[0, 0, 0]] * 2


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([["good"], ["god"]], "Label 1 is 'god'.*Did you mean 'good'"),
        (["good", "bad"], "a list of names for each text.*got .'good', 'bad'"),
        ([0, 2, 1], r"got shape \(3,\)"),
        ([[1, 0], [0, 1]], r"0 and 1, \[n, 3\]; got shape \(2, 2\)"),
        ([[1, 0, 0], [0, 2, 0]], "got 2.0 at .1, 1"),
        ([[1, 0, 0], [0, float("nan"), 0]], "got nan at .1, 1"),
        ([[2], [0, 1]], "list of names"),
    ],
)
def test_labels_in_no_known_form_are_refused(labels, message, refused):
    refused(message, label_matrix, labels, NAMES)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"god": 2}, "class_weight has the class 'god'.*Did you mean 'good'"),
        ({3: 2}, "has the class 3, which is not one of the 3 classes"),
        ({"good": -1}, "of 'good' must be a finite number of at least 0; got -1"),
        ("balance", "one of 'balanced'; got 'balance'.*dict of weights by class"),
        (np.array([1.0, 3.0]), "class_weight.*dict of weights by class"),
    ],
)
def test_weights_that_cannot_be_meant_are_refused(weights, message, refused):
    refused(message, class_weights, weights, NAMES)


@pytest.mark.parametrize(
    ("check", "labels", "classes", "message"),
    [
        (regression_targets, ["a"], ["x"], "must be a number for each.*'a'"),
        (class_targets, [2**70, 0], ["a", "b"], "Label 0 is 1180591620717411303424"),
        (class_targets, [b"\xff", b"a"], ["a", "b"], "Label 0"),
        (class_targets, np.zeros((2, 4), int), ["a", "b"], r"one-hot.*shape \(2, 4\)"),
        (regression_targets, np.zeros((2, 4)), ["a"], r"shape \(2, 4\)"),
        (choice_targets, [{}, {}], None, r"question's choices.*got \[\{\}"),
        (choice_targets, [[-2]], None, "question's choices.*got -2 at .0."),
    ],
)
def test_labels_that_are_no_targets_are_refused(check, labels, classes, message):
    with pytest.raises(ValueError, match=message) as error:
        check(labels, classes)
    assert not isinstance(error.value, UnicodeError)


def test_class_numbers_in_a_column_have_the_weights_of_their_classes():
    by_class = np.array([1.0, 3.0], "float32")
    for labels in (np.array([0, 1, 1]), np.array([[0], [1], [1]]), np.eye(2)[[0, 1, 1]]):
        assert weighted_by_class(labels, np.ones(3), by_class).tolist() == [1, 3, 3]
