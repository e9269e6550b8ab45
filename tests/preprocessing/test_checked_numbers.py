"""Labels and inputs of datasets, and extra inputs, are checked on their way to a model."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import BertClassifier
from keras_bert.graph.datasets import map_checked
from keras_bert.preprocessing.data import check_has_labels
from keras_bert.preprocessing.labels import AnyLabels, Choices, ClassLabels, ClassNumbers
from keras_bert.preprocessing.prepared_inputs import (
    check_extra_inputs,
    with_checks,
    with_extra_arrays,
)

IDS = np.zeros((3, 4), "int32")
FEATURES = np.arange(6).reshape(3, 2)
slices = tf.data.Dataset.from_tensor_slices


def examples(labels, *weights):
    return slices(({"token_ids": np.zeros((len(labels), 4), "int32")}, labels, *weights))


def checked(dataset, rules):
    return map_checked(dataset, lambda x, y, *weights: (x, rules.checked(y, x), *weights))


def of_classes(count):
    return ClassLabels([*map(str, range(count))])


def test_labels_of_the_classes_pass_unchanged():
    weights = np.array([0.5, 1, 2, 0])
    for dtype in ("int64", "uint8", "float32", "bool"):
        labels = np.array([0, 1, 2, 0]).astype(dtype)
        plain = examples(labels, weights).batch(3)
        for given in (plain, examples(labels[:, None], weights).batch(3)):
            found = checked(given, of_classes(3))
            assert found.element_spec == plain.element_spec and len(found) == 2
            tf.nest.map_structure(tf.debugging.assert_equal, [*found], [*plain])
    # More classes than the dtype of the labels can count.
    many = examples(np.array([0, 255], "uint8")).batch(2)
    assert len(list(checked(many, of_classes(300)))) == 1


def test_a_label_outside_is_named_with_its_batch():
    for label in (3, -1, float("nan")):
        labels = np.array([0, 1, 2, label, 1])
        batches = examples(labels[:, None], np.ones(5)).batch(2)
        rows = [([0.0], [number]) for number in labels]
        unknown = tf.data.Dataset.from_generator(lambda rows=rows: rows, (tf.float32, tf.float32))
        message = f"Labels must be in 0 to 2 for num_classes=3. Number .* Others:. .{label}]"
        for dataset in (examples(labels), batches, unknown):
            found = iter(checked(dataset, of_classes(3)))
            assert next(found)[1].numpy().flat[0] == 0
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                list(found)


def test_what_is_not_one_number_each_is_left_alone(refused):
    for dataset in (examples(9 * np.eye(3)).batch(2), slices((IDS, {"a": [7, 8, 9]}))):
        found = checked(dataset, of_classes(3))
        assert found.element_spec == dataset.element_spec and len(list(found)) == len(dataset)
    ragged = slices((IDS[:2], tf.ragged.constant([[0, 1, 0], [1, 0, 0]]))).ragged_batch(2)
    assert len(list(checked(ragged, AnyLabels()))) == 1
    one_hot = ragged.map(lambda x, y: (x, y.to_tensor()))
    assert checked(one_hot, of_classes(3)).element_spec[1].shape[-1] == 3
    refused(r"one-hot, \[n, C\]; got shape", checked, examples(np.eye(4)).batch(2), of_classes(3))


def test_names_are_refused_at_once(refused):
    message = "num_classes=3; the dataset yields strings.*label_names"
    refused(message, checked, examples(["good"]).batch(1), of_classes(3))


def test_classes_of_tokens_are_checked_in_memory_and_on_their_way():
    rules = ClassNumbers(["O", "B"])
    for labels in (np.eye(2, dtype=int), np.eye(2)[None]):
        assert rules.checked(labels) is labels
        [(_, found)] = checked(slices((IDS[:1], labels[None])), rules)
        assert found.numpy().tolist() == labels.tolist()
    wrong = np.array([[0, 2]])
    with pytest.raises(ValueError, match=r"got 2 at \[0, 1\]. To leave tokens out of training"):
        rules.checked(wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="To leave tokens out"):
        list(checked(slices((IDS[:1], wrong)).batch(1), rules))


def test_places_of_choices_are_checked_in_memory_and_on_their_way(refused):
    mask = np.array([[[1, 1], [1, 0], [0, 0]], [[1, 1], [1, 1], [1, 0]]], "int32")
    inputs = {"token_ids": mask, "padding_mask": mask}
    for x, right, wrong in (
        (inputs, [1, 2], [2, 2]),
        (inputs, [[0], [1]], [[-1], [0]]),
        ({"token_ids": mask}, [2, 2], [2, 3]),
    ):
        [(_, labels)] = checked(slices((x, right)).batch(2), Choices())
        expected = np.ravel(right).tolist()
        assert labels.numpy().tolist() == Choices().checked(np.array(right), x).tolist() == expected
        refused("question.*s choices, from 0", Choices().checked, np.array(wrong), x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="question.*s choices, from 0"):
            list(checked(slices((x, wrong)).batch(2), Choices()))
    for soft in (np.full((2, 3), 1 / 3), np.eye(3)[:2]):
        [(_, labels)] = checked(slices((inputs, soft)).batch(2), Choices())
        assert labels.numpy().tolist() == Choices().checked(soft, inputs).tolist() == soft.tolist()
    refused(r"\[B\]; got shape", checked, slices((inputs, [[0, 1]] * 2)).batch(2), Choices())


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
