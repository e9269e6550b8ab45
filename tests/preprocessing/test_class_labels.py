import numpy as np
import pytest

from keras_bert import BertClassifierPreprocessor
from keras_bert.preprocessing.choice_examples import choice_targets
from keras_bert.preprocessing.class_labels import (
    class_targets,
    class_weights,
    label_matrix,
    named_classes,
    token_targets,
)

NAMES = ["bad", "fine", "good"]


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda x: np.array(x, object)])
def test_names_become_numbers(form):
    for labels in (["good", "bad", "fine"], [b"good", b"bad", b"fine"], [2, 0, 1]):
        assert class_targets(form(labels), NAMES).tolist() == [2, 0, 1]


@pytest.mark.parametrize("label", ["godo", b"good\xff", None, 1.5])
def test_a_label_that_is_no_name_is_refused(label):
    with pytest.raises(ValueError, match=r"Label 1 is .*not one of the 3 classes: bad, fine, good"):
        class_targets(np.array(["good", label], object), NAMES)


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
        ([[1, 0, 0], [0, 2, 0]], "got 2 in row 1, column 1"),
        ([[1, 0, 0], [0, float("nan"), 0]], "row 1 in column 1 is nan"),
        ([[2], [0, 1]], "list of names"),
    ],
)
def test_labels_in_no_known_form_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        label_matrix(labels, NAMES)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"god": 2}, "class_weight has the class 'god'.*Did you mean 'good'"),
        ({3: 2}, "has the class 3, which is not one of the 3 classes"),
        ({"good": -1}, "of 'good' must be a finite number of at least 0; got -1"),
        ("balance", "dict of weights by class, or .balanced.*'balance'"),
        ("balanced", "counts the labels"),
    ],
)
def test_weights_that_cannot_be_meant_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        class_weights(weights, NAMES)


def test_class_targets_are_numbers_of_classes_or_of_scores():
    assert class_targets(["good", "bad"], NAMES).tolist() == [2, 0]
    assert class_targets([2, 7], None).tolist() == [2, 7]
    assert class_targets([0.5, -1], ["score"]).tolist() == [0.5, -1]
    assert class_targets([["good"]], NAMES, multi_label=True).tolist() == [[0, 0, 1]]
    one_hot = np.eye(3, dtype=int)
    assert class_targets(one_hot, NAMES) is one_hot  # for a loss of the user's own


@pytest.mark.parametrize(
    ("check", "labels", "classes", "message"),
    [
        (class_targets, [0, 3], NAMES, "0 to 2 for num_classes=3; got values from 0 to 3.*from 0"),
        (class_targets, [[-1], [2]], NAMES, "got values from -1 to 2"),
        (class_targets, ["a"], ["x"], "must be a number for each.*'a'"),
        (class_targets, [2**70, 0], ["a", "b"], "Label 0 is 1180591620717411303424"),
        (class_targets, [b"\xff", b"a"], ["a", "b"], "Label 0"),
        (class_targets, np.zeros((2, 4), int), ["a", "b"], r"one-hot.*shape \(2, 4\)"),
        (class_targets, np.zeros((2, 4)), ["a"], r"shape \(2, 4\)"),
        (class_targets, np.zeros((2, 0)), ["a"], r"shape \(2, 0\)"),
        (class_targets, np.zeros((2, 0), int), ["no", "yes"], r"got shape \(2, 0\)"),
        (token_targets, [[0, 3]], 3, "0 to 2 for num_classes=3.*sample_weight of 0"),
        (choice_targets, [{}, {}], None, r"index of one of its choices.*got \{\}"),
        (choice_targets, [[-2]], None, "question 0 must be the index.*got -2"),
    ],
)
def test_labels_that_are_no_targets_are_refused(check, labels, classes, message):
    with pytest.raises(ValueError, match=message) as error:
        check(labels, classes)
    assert not isinstance(error.value, UnicodeError)


def test_classes_get_numbers_for_names(tokenizer):
    plain = BertClassifierPreprocessor(tokenizer, 8, threshold=0.7)
    named = named_classes(plain, 3)
    assert named.label_names == ["0", "1", "2"] and plain.label_names is None
    assert named.threshold == 0.7 and named_classes(named, 3) is named
    with pytest.raises(ValueError, match="There are 2 classes but 3 label_names"):
        named_classes(named, 2)
