import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from keras_bert.preprocessing.class_labels import class_numbers, class_weights, label_matrix

NAMES = ["bad", "fine", "good"]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda x: np.array(x, object)])
def test_names_become_numbers(form):
    labels = form(["good", "bad", "fine", "good"])
    assert class_numbers(labels, NAMES).tolist() == [2, 0, 1, 2]
    assert class_numbers(form([b"good", b"bad"]), NAMES).tolist() == [2, 0]


def test_numbers_stay_what_they_are():
    labels = np.array([2, 0])
    assert class_numbers(labels, NAMES) is labels
    assert class_numbers(np.array([2, 0], object), NAMES).tolist() == [2, 0]


@pytest.mark.parametrize("label", ["godo", None, 1.5])
def test_what_is_no_name_is_refused(label):
    with pytest.raises(ValueError, match=r"Label 1 is .*none of the 3 classes: bad, fine, good"):
        class_numbers(np.array(["good", label], object), NAMES)


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
        (["good", "bad"], "a list of names for each text.*got rows such as 'good'"),
        ([0, 2, 1], r"got shape \(3,\)"),
        ([[1, 0], [0, 1]], r"0 and 1, \[n, 3\]; got shape \(2, 2\)"),
        ([[1, 0, 0], [0, 2, 0]], "row 1 has 2 in column 1"),
        ([[1, 0, 0], [0, float("nan"), 0]], "row 1 has nan in column 1"),
        ([[2], [0, 1]], "list of names"),
    ],
)
def test_what_are_no_labels_is_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        label_matrix(labels, NAMES)


def test_balanced_weights_are_scikit_learns():
    labels = np.array([0, 0, 0, 1, 2, 2])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels)
    np.testing.assert_allclose(class_weights("balanced", NAMES, labels), expected, rtol=1e-6)


def test_weights_by_name_and_by_number():
    assert class_weights({"good": 2, 0: 0.5}, NAMES).tolist() == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"god": 2}, "class_weight has the class 'god'.*Did you mean 'good'"),
        ({3: 2}, "has a class 3; the classes are 0 to 2"),
        ({"good": -1}, "must be 0 or more; got -1"),
        ("balance", "dict of weights by class, or .balanced.*'balance'"),
        ("balanced", "counts the labels"),
    ],
)
def test_weights_that_cannot_be_meant_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        class_weights(weights, NAMES)
