"""Labels and inputs of datasets, and extra inputs, are checked on their way to a model."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import BertClassifier
from keras_bert.data.columns import check_has_labels
from keras_bert.data.prepared_inputs import (
    check_extra_inputs,
    with_checks,
    with_extra_arrays,
)
from keras_bert.graph.datasets import map_checked
from keras_bert.preprocessing.labels import (
    AnyLabels,
    Choices,
    ClassLabels,
    ClassNumbers,
    Relevance,
    SeveralLabels,
)

IDS = np.zeros((3, 4), "int32")
FEATURES = np.arange(6).reshape(3, 2)
NAN = float("nan")
slices = tf.data.Dataset.from_tensor_slices


MASK = np.array([[[1, 1], [1, 0], [0, 0]], [[1, 1], [1, 1], [1, 0]]], "int32")
CHOICES = {"token_ids": MASK, "padding_mask": MASK}
CLASSES = ClassLabels(["a", "b", "c"])
OF_CLASSES, OF_CHOICES = "Labels must be in 0 to 2 for num_classes=3", "s choices, from 0"
FINITE = "Labels must be finite numbers"
RULES = [  # right labels, and wrong ones
    (CLASSES, {}, [0, 2.0], [[0, 3], [-1, 0], [NAN, 1], [0.5, 1]], OF_CLASSES),
    (CLASSES, {}, np.array([[1], [2]], "uint8"), [[[0], [3]]], OF_CLASSES),
    (CLASSES, {}, [True, False], [np.eye(4)], r"one-hot, \[n, C\]; got shape"),
    (ClassLabels([*map(str, range(300))]), {}, np.array([0, 255], "uint8"), [], ""),  # all bytes
    (ClassNumbers(["O", "B"]), {}, [[0, 1], [1, 0]], [[[0, 2]]], "To leave tokens out of training"),
    (Relevance(is_binary=True), {}, [0.5, 1], [[2.0], [NAN]], "takes a relevance from 0 to 1"),
    (AnyLabels(), {}, [0.5, 3], [[NAN], [np.inf]], FINITE),
    (SeveralLabels(["a"]), {}, [[0.5], [1.0]], [[[NAN]], [[2.0]]], "must be from 0 to 1"),
    (Choices(), CHOICES, [1, 2], [[2, 2], [0.5, 0], [[0, 1], [1, 0]], [True, False]], OF_CHOICES),
    (Choices(), CHOICES, [[0], [1]], [[[-1], [0]]], OF_CHOICES),
    (Choices(), {"token_ids": MASK}, [2, 2], [[2, 3]], OF_CHOICES),
    (Choices(), CHOICES, np.full((2, 3), 1 / 3), [], ""),  # probabilities
]


def on_their_way(dataset, rules):
    """The labels of a dataset after the check."""
    checked = map_checked(dataset, lambda x, y: (x, rules.checked(y, x)))
    return [labels.numpy() for _, labels in checked]


@pytest.mark.parametrize(("rules", "x", "right", "wrong", "message"), RULES)
def test_labels_are_checked_alike_in_memory_and_on_their_way(
    rules, x, right, wrong, message, refused
):
    in_memory = rules.checked(np.array(right), x)
    [found] = on_their_way(slices((x, right)).batch(2), rules)
    assert found.tolist() == in_memory.tolist() and np.array_equal(found.flat, np.ravel(right))
    for labels in wrong:
        refused(message, rules.checked, np.array(labels), x)
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
            on_their_way(tf.data.Dataset.from_tensors((x, labels)), rules)


def test_labels_of_a_dataset_of_any_shape_are_named():
    rows = [([0.0], [label]) for label in (0, 1, 3)]
    unknown = tf.data.Dataset.from_generator(lambda: rows, (tf.float32, tf.float32))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=OF_CLASSES + ". Number .* Others:. .3"
    ):
        on_their_way(unknown, CLASSES)


def test_labels_in_other_forms_and_of_other_losses_pass(refused):
    for labels in (9 * np.eye(3), {"a": np.array([7, 8, 9])}):
        [(_, found)] = map_checked(
            slices((IDS, labels)).batch(3), lambda x, y: (x, CLASSES.checked(y))
        )
        tf.nest.map_structure(tf.debugging.assert_equal, found, labels)
    ragged = slices((IDS[:2], tf.ragged.constant([[0, 1, 0], [1, 0, 0]]))).ragged_batch(2)
    one_hot = ragged.map(lambda x, y: CLASSES.checked(y.to_tensor()))
    assert one_hot.element_spec.shape[-1] == 3  # which JAX needs to know
    assert len(list(ragged.map(lambda x, y: AnyLabels().checked(y)))) == 1
    message = "num_classes=3; the dataset yields strings.*label_names"
    refused(message, on_their_way, slices((IDS, ["a", "b", "c"])), CLASSES)


@pytest.fixture(scope="module")
def model(make_backbone):
    return BertClassifier(make_backbone(max_sequence_length=4), 2, num_features=2)


def test_features_of_datasets_are_checked_and_become_float32(model):
    x = {"token_ids": IDS, "features": FEATURES.astype("float64")}
    check_extra_inputs(model, slices(x).element_spec, may_be_one=True)
    found = with_checks(model, slices((x, [0, 1, 2])).batch(2), AnyLabels())
    assert found.element_spec[0]["features"].dtype == tf.float32 and len(list(found)) == 2
    x["features"][2, 1] = np.inf
    with pytest.raises(tf.errors.InvalidArgumentError, match="features must be finite numbers"):
        list(with_checks(model, slices(x).batch(2), AnyLabels()))


def test_missing_or_misshapen_extra_inputs_are_refused(model, refused):
    for features, message in (
        (FEATURES[:, :1], r"takes features alongside text.*\[n, 2\].*shape \(3, 1\)"),
        ([["x", "y"]], r"must be numbers, a row.*table\[\['age"),
    ):
        refused(message, with_extra_arrays, model, {"text": ["a"] * 3, "features": features})
    for spec in (slices(["a"]).element_spec, {"features": tf.TensorSpec([4])}):
        refused("takes features alongside text.*got", check_extra_inputs, model, spec, True)
    refused("must yield texts, or dicts", with_checks, model, slices(IDS), AnyLabels())


def test_a_task_that_learns_from_texts_alone_takes_no_labels(refused):
    task = SimpleNamespace(takes_labels=False, loss="mse")
    check_has_labels(task, False)
    refused("from texts alone", check_has_labels, task, True)
