from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.data.columns import weighted_by_class
from keras_bert.preprocessing.checked_numbers import extra_input_array, weight_arrays
from keras_bert.preprocessing.labels import (
    Choices,
    ClassLabels,
    Numbers,
    SeveralLabels,
    as_label_names,
)

NAMES = ["bad", "fine", "good"]
CLASSES, SEVERAL = ClassLabels(NAMES), SeveralLabels(NAMES)


def test_names_become_numbers(refused):
    for form in (list, np.array, lambda x: np.array(x, object)):
        for labels in (["good", "bad", "fine"], [b"good", b"bad", b"fine"], [2, 0, 1]):
            assert CLASSES.numbers(form(labels)).tolist() == [2, 0, 1]
    for label in ("godo", b"good\xff", None, 1.5):
        wrong = np.array(["good", label], object)
        refused("Label 1 is .*the 3 classes: bad, fine, good", CLASSES.numbers, wrong)


def test_a_number_is_a_name_where_names_are_digits(refused):
    rules = ClassLabels(["1", "2", "3"])
    for labels in ([1, 3], [1.0, 3.0], ["1", "3"]):
        assert rules.numbers(labels).tolist() == [0, 2]
    assert rules.weights({1: 2.0}).tolist() == [2, 1, 1]
    refused("Label 1 is .*the 3 classes: 1, 2, 3", rules.numbers, [1, 0])
    for names, labels, expected in (
        ("-1 0 1", [0, -1], [1, 0]),
        ("1.0 2.0", [2, 1.0], [1, 0]),
        ("01 02 other", [2, 1.0], [1, 0]),
        ("0 1 other", [1, 2], [1, 2]),
        ("true false", [True, False], [0, 1]),
        ("true false", [1, 0], [1, 0]),
        ("1 0", [True, False], [0, 1]),
        ("no yes", [True, False], [1, 0]),
    ):
        for given in (labels, np.array(labels, object)):
            assert ClassLabels(names.split()).numbers(given).tolist() == expected, names
    one_hot = np.eye(2, dtype=bool)
    assert ClassLabels(["1", "2"]).numbers(one_hot).tolist() == one_hot.tolist()
    for given, expected, of_batch in (  # which holds class numbers
        ([0, 2], ["1", "3"], rules.of_batch),
        (["1", "3"], ["1", "3"], rules.of_batch),
        ([0, 2], [0, 2], CLASSES.of_batch),
        ([0.5, 2], [0.5, 2], Numbers(rules.names).of_batch),
    ):
        assert of_batch(np.array(given)).tolist() == expected


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
        refused(expected, ClassLabels(["0", "1"]).numbers, labels)
    refused("classes: no, yes.$", ClassLabels(["no", "yes"]).numbers, names[:2])


def test_labels_weights_and_scores_may_be_floats_of_any_width():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in ("float16", "float32", ml_dtypes.bfloat16):
        values = np.array([1, 0, 1]).astype(dtype)
        for found, of_type in (
            (ClassLabels(["no", "yes"]).numbers(values), "int64"),
            (ClassLabels().numbers(values), "int64"),
            (Numbers(["score"]).numbers(values), "float64"),
            (SeveralLabels(["a"]).numbers(values[:, None])[:, 0], "float32"),
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
        matrix = SEVERAL.numbers(labels)
        assert matrix.tolist() == expected and matrix.dtype == np.float32
    assert SEVERAL.numbers([[], []]).tolist() == [[0, 0, 0]] * 2


def test_labels_and_weights_that_cannot_be_meant_are_refused(refused):
    for check, message, *wrong in (
        (SEVERAL.numbers, "Label 1 is 'god'.*Did you mean 'good'", [["good"], ["god"]]),
        (SEVERAL.numbers, "a list of names for each text", ["good"]),
        (SEVERAL.numbers, r"0 and 1, \[n, 3\]; got shape \(2,", [[1, 0], [0, 1]]),
        (SEVERAL.numbers, "got (2.0|nan) at .0, 1", [[0, 2, 0]], [[0, float("nan"), 0]]),
        (CLASSES.weights, "has the class 3, which is not one of the 3 classes", {3: 2}),
        (CLASSES.weights, "'good' must be a finite .* at least 0; got -1", {"good": -1}),
        (CLASSES.weights, "'balanced'; got .*dict of weights by class", np.ones(3)),
        (CLASSES.weights, "counts the labels: give an array y", "balanced"),
        (
            CLASSES.numbers,
            "Label 0 is (1180591620717411303424|'.*xff')",
            [2**70, 0],
            [b"\xff", b"a"],
        ),
        (CLASSES.numbers, r"one-hot.*shape \(2, 4\)", np.zeros((2, 4), int)),
        (CLASSES.numbers, "one for each example; got", 1, "good"),
        (SEVERAL.numbers, "a list of names for each text", 1, "good"),
        (Choices().numbers, r"choices, from 0.*got (\[\{|-2 at .0|0.5)", [{}, {}], [[-2]], [0.5]),
    ):
        for given in wrong:
            refused(message, check, given)


def test_losses_and_metrics_of_one_hot_labels_need_them(refused):
    rules = ClassLabels(["no", "yes"])
    for labels, metrics in (([0, 1], ["mae"]), ([[0], [1]], ["own", "auc"])):
        refused("takes one-hot labels", rules.check_loss, labels, "own", metrics)
    for labels, of in (([], rules), ([0], ClassLabels(["score"])), (np.eye(2), rules)):
        of.check_loss(labels, "mse", ["mae"])
    refused("Labels are one-hot", rules.check_loss, np.eye(2), "sparse", [])


def test_classes_weigh_by_their_labels_in_a_column_too():
    assert CLASSES.weights("balanced", np.array([0, 0, 1])).tolist() == [0.5, 0.5, 1]
    for labels in (np.array([0, 1, 1]), np.array([[0], [1], [1]]), np.eye(2)[[0, 1, 1]]):
        for weights in ((), (np.ones(3),)):
            batches = SimpleNamespace(map=lambda weigh, given=(labels, *weights): weigh({}, *given))
            *_, found = weighted_by_class(batches, {0: 1.0, 1: 3.0})
            assert found.tolist() == [1, 3, 3]
