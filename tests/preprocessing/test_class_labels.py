import keras
import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from keras_bert import BertClassifierPreprocessor
from keras_bert.preprocessing.choice_rows import choice_targets
from keras_bert.preprocessing.class_labels import (
    check_one_hot,
    class_numbers,
    class_targets,
    label_matrix,
    named_classes,
    token_targets,
)
from keras_bert.preprocessing.sample_weights import class_sample_weight, class_weights

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


@pytest.mark.parametrize("label", ["godo", b"good\xff", None, 1.5])
def test_a_label_that_is_no_name_is_refused(label):
    with pytest.raises(ValueError, match=r"Label 1 is .*not one of the 3 classes: bad, fine, good"):
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


def test_balanced_weights_are_scikit_learns(assert_close):
    labels = np.array([0, 0, 0, 1, 2, 2])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels)
    assert_close(class_weights("balanced", NAMES, labels), expected)


def test_weights_by_name_and_by_number():
    assert class_weights({"good": 2, 0: 0.5}, NAMES).tolist() == [0.5, 1.0, 2.0]
    found = class_sample_weight([[2], [0]], {"good": 3}, NAMES, [0.5, 2])
    assert found.tolist() == [1.5, 2]  # times those of the examples


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
        (choice_targets, [0, -1], None, "question 1 must be the index.*got -1"),
        (choice_targets, [0.5], None, "index of one of its choices.*got 0.5"),
        (choice_targets, [{}, {}], None, r"index of one of its choices.*got \{\}"),
        (choice_targets, [[-2]], None, "question 0 must be the index.*got -2"),
        (choice_targets, ["a"], None, "index of one of its choices.*got 'a'"),
    ],
)
def test_labels_that_are_no_targets_are_refused(check, labels, classes, message):
    with pytest.raises(ValueError, match=message) as error:
        check(labels, classes)
    assert not isinstance(error.value, UnicodeError)


def test_the_choice_of_a_label_is_there():
    mask = np.array([[[1, 1], [1, 0], [0, 0]]], "int32")
    inputs = {"token_ids": 5 * mask, "padding_mask": mask}
    for labels in ([1], np.array([[0]])):
        assert choice_targets(labels, inputs) is labels
    for label in (2, 3):
        with pytest.raises(ValueError, match=f"question 0.* choices, 0, 1; got {label}"):
            choice_targets([label], inputs)
    assert choice_targets([2], {"token_ids": mask}) == [2]


def test_classes_get_numbers_for_names(tokenizer):
    plain = BertClassifierPreprocessor(tokenizer, 8, threshold=0.7)
    named = named_classes(plain, 3)
    assert named.label_names == ["0", "1", "2"] and plain.label_names is None
    assert named.threshold == 0.7 and named_classes(named, 3) is named
    with pytest.raises(ValueError, match="There are 2 classes but 3 label_names"):
        named_classes(named, 2)


def test_one_hot_labels_are_told_from_those_of_a_dense_loss():
    one_hot, loss = np.eye(3), "sparse_categorical_crossentropy"
    with pytest.raises(ValueError, match=r"one-hot, \[n, 3\].*pass y.argmax\(axis=1\)"):
        check_one_hot(one_hot, 3, loss)
    for labels, classes, of in (
        (one_hot, 3, "categorical_crossentropy"),
        (one_hot, 4, loss),
        ([0, 1], 3, loss),
        ([[0], [1]], 1, loss),
        (["a", "b"], 3, loss),
        ([], 3, loss),
        (None, 3, loss),
    ):
        check_one_hot(labels, classes, of)


@pytest.mark.parametrize("labels", [[0, 1], [[0], [1]], ["a", "b"], np.array([0, 1])])
def test_a_dense_loss_takes_no_class_numbers(labels):
    check_one_hot(labels, 1, "categorical_crossentropy")
    message = r'CategoricalCrossentropy takes one-hot labels, \[n, 3\].*loss="sparse_categ'
    with pytest.raises(ValueError, match=message):
        check_one_hot(labels, 3, keras.losses.CategoricalCrossentropy())
