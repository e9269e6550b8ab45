from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.preprocessing.bert_multiple_choice_preprocessor import choice_targets
from keras_bert.preprocessing.checked_numbers import extra_input_array, weight_arrays
from keras_bert.preprocessing.class_labels import (
    as_label_names,
    check_one_hot,
    class_targets,
    class_weights,
    label_matrix,
    regression_targets,
    weighted_by_class,
)
from keras_bert.preprocessing.data import InputArrays

NAMES = ["bad", "fine", "good"]


def test_names_become_numbers(refused):
    for form in (list, np.array, lambda x: np.array(x, object)):
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
    refused("or numbers in their places", as_label_names, [1, 0])
    for blank in (" ", np.str_("")):
        refused("names that differ.*an empty cell", as_label_names, ["bad", blank, "good"])


def test_names_of_unnamed_classes_are_listed_unless_they_are_many(refused):
    names = [f"name {number:02}" for number in range(21)]
    for labels, expected in (
        (names[:20], "label_names=.*'name 19'"),
        (names, "classes: 0, 1.$"),
    ):
        refused(expected, class_targets, labels, ["0", "1"])
    refused("classes: no, yes.$", class_targets, names[:2], ["no", "yes"])


def test_labels_weights_and_scores_may_be_floats_of_any_width():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in ("float16", "float32", ml_dtypes.bfloat16):
        values = np.array([1, 0, 1]).astype(dtype)
        for found, of_type in (
            (class_targets(values, ["no", "yes"]), "int64"),
            (class_targets(values, None), "int64"),
            (regression_targets(values, ["score"]), "float64"),
            (label_matrix(values[:, None], ["a"])[:, 0], "float32"),
            (weight_arrays(values), "float32"),
            (extra_input_array("x", values), "float32"),
        ):
            assert found.tolist() == [1, 0, 1] and found.dtype == of_type


def test_several_labels_become_zeros_and_ones():
    expected = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    lists = [["good", "bad"], [], ["fine"]]
    for labels in (
        lists,
        [*map(set, lists)],
        [*map(np.array, lists)],
        np.array(expected, bool),
    ):
        matrix = label_matrix(labels, NAMES)
        assert matrix.tolist() == expected and matrix.dtype == np.float32
    assert label_matrix([[], []], NAMES).tolist() == [[0, 0, 0]] * 2


def test_labels_and_weights_that_cannot_be_meant_are_refused(refused):
    for check, message, *wrong in (
        (label_matrix, "Label 1 is 'god'.*Did you mean 'good'", [["good"], ["god"]]),
        (label_matrix, "a list of names for each text", ["good"]),
        (label_matrix, r"0 and 1, \[n, 3\]; got shape \(2,", [[1, 0], [0, 1]]),
        (label_matrix, "got (2.0|nan) at .0, 1", [[0, 2, 0]], [[0, float("nan"), 0]]),
        (class_weights, "has the class 3, which is not one of the 3 classes", {3: 2}),
        (class_weights, "'good' must be a finite .* at least 0; got -1", {"good": -1}),
        (class_weights, "'balanced'; got .*dict of weights by class", np.ones(3)),
        (class_weights, "counts the labels: give an array y", "balanced"),
        (
            class_targets,
            "Label 0 is (1180591620717411303424|'.*xff')",
            [2**70, 0],
            [b"\xff", b"a"],
        ),
        (class_targets, r"one-hot.*shape \(2, 4\)", np.zeros((2, 4), int)),
        (choice_targets, r"question's choices.*got (\[\{\}|-2 at .0|0.5)", [{}, {}], [[-2]], [0.5]),
    ):
        for given in wrong:
            refused(message, check, given, NAMES)


def test_losses_and_metrics_of_one_hot_labels_need_them(refused):
    for labels, metrics in (([0, 1], ["mae"]), ([[0], [1]], ["own", "auc"])):
        refused("takes one-hot labels", check_one_hot, labels, 2, "own", metrics)
    for labels, count in (([], 2), ([0], 1), (np.eye(2), 2)):
        check_one_hot(labels, count, "mse", ["mae"])
    refused("Labels are one-hot", check_one_hot, np.eye(2), 2, "sparse", [])


def test_classes_weigh_by_their_labels_in_a_column_too():
    assert class_weights("balanced", NAMES, [0, 0, 1]).tolist() == [0.5, 1, 1]
    by_class = np.array([1.0, 3.0], "float32")
    for labels in (np.array([0, 1, 1]), np.array([[0], [1], [1]]), np.eye(2)[[0, 1, 1]]):
        assert weighted_by_class(labels, np.ones(3), by_class).tolist() == [1, 3, 3]
