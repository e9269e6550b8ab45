"""Labels and inputs of datasets, and extra inputs, are checked on their way to a model."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import BertClassifier
from keras_bert.preprocessing.bert_multiple_choice_preprocessor import with_choice_check
from keras_bert.preprocessing.class_labels import with_class_check
from keras_bert.preprocessing.prepared_inputs import with_input_checks
from keras_bert.preprocessing.task_checks import (
    check_extra_inputs,
    check_has_labels,
    with_extra_arrays,
)

IDS = np.zeros((3, 4), "int32")
FEATURES = np.arange(6).reshape(3, 2)
slices = tf.data.Dataset.from_tensor_slices


def examples(labels, *weights):
    return slices(({"token_ids": np.zeros((len(labels), 4), "int32")}, labels, *weights))


def test_labels_of_the_classes_pass_unchanged():
    weights = np.array([0.5, 1, 2, 0])
    for dtype in ("int64", "uint8", "float32", "bool"):
        labels = np.array([0, 1, 2, 0]).astype(dtype)
        plain = examples(labels, weights).batch(3)
        for given in (plain, examples(labels[:, None], weights).batch(3)):
            checked = with_class_check(given, 3)
            assert checked.element_spec == plain.element_spec and len(checked) == 2
            tf.nest.map_structure(tf.debugging.assert_equal, [*checked], [*plain])
    # More classes than the dtype of the labels can count.
    assert len(list(with_class_check(examples(np.array([0, 255], "uint8")), 300))) == 2


def test_a_label_outside_is_named_with_its_batch():
    for label in (3, -1, float("nan")):
        labels = np.array([0, 1, 2, label, 1])
        batches = examples(labels[:, None], np.ones(5)).batch(2)
        rows = [([0.0], [number]) for number in labels]
        unknown = tf.data.Dataset.from_generator(lambda rows=rows: rows, (tf.float32, tf.float32))
        message = f"Labels must be in 0 to 2 for num_classes=3. Number .* Others:. .{label}]"
        for dataset in (examples(labels), batches, unknown):
            checked = iter(with_class_check(dataset, 3))
            assert next(checked)[1].numpy().flat[0] == 0
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                list(checked)


def test_what_is_not_one_number_each_is_left_alone():
    for dataset in (examples(9 * np.eye(3)).batch(2), slices((IDS, {"a": [7, 8, 9]}))):
        checked = with_class_check(dataset, 3)
        assert checked.element_spec == dataset.element_spec and len(list(checked)) == len(dataset)
    ragged = slices((IDS[:2], tf.ragged.constant([[0, 1, 0], [1, 0, 0]]))).ragged_batch(2)
    one_hot = ragged.map(lambda x, y: (x, y.to_tensor()))
    assert with_class_check(one_hot, 3).element_spec[1].shape[-1] == 3


def test_no_labels_and_names_are_refused_at_once(refused):
    refused("yields no labels; make it yield .x, label.", with_class_check, slices(IDS), 3)
    names = examples(["good"])
    refused(
        "num_classes=3; the dataset yields strings.*label_names",
        with_class_check,
        names,
        3,
    )


def test_places_of_choices_are_checked_on_their_way():
    mask = np.array([[[1, 1], [1, 0], [0, 0]], [[1, 1], [1, 1], [1, 0]]], "int32")
    inputs = {"token_ids": mask, "padding_mask": mask}
    for x, right, wrong in (
        (inputs, [1, 2], [2, 2]),
        (inputs, [0, 1], [-1, 0]),
        ({"token_ids": mask}, [2, 2], [2, 3]),
    ):
        [(_, labels)] = with_choice_check(slices((x, right)).batch(2))
        assert labels.numpy().tolist() == right
        with pytest.raises(tf.errors.InvalidArgumentError, match="question.*s choices, from 0"):
            list(with_choice_check(slices((x, wrong)).batch(2)))


@pytest.fixture(scope="module")
def model(make_backbone):
    return BertClassifier(make_backbone(max_sequence_length=4), 2, num_features=2)


def test_features_of_datasets_are_checked_and_become_float32(model):
    x = {"token_ids": IDS, "features": FEATURES.astype("float64")}
    check_extra_inputs(model, slices(x).element_spec, may_be_one=True)
    checked = with_input_checks(model, slices((x, [0, 1, 2])).batch(2))
    assert checked.element_spec[0]["features"].dtype == tf.float32 and len(list(checked)) == 2
    x["features"][2, 1] = np.inf
    with pytest.raises(tf.errors.InvalidArgumentError, match="features must be finite numbers"):
        list(with_input_checks(model, slices(x).batch(2)))


def test_missing_or_misshapen_extra_inputs_are_refused(model, refused):
    for features, message in (
        (FEATURES[:, :1], r"takes features alongside text.*\[n, 2\].*shape \(3, 1\)"),
        ([["x", "y"]], r"must be numbers, a row.*table\[\['age"),
    ):
        refused(message, with_extra_arrays, model, {"text": ["a"] * 3, "features": features})
    for spec in (slices(["a"]).element_spec, {"features": tf.TensorSpec([4])}):
        refused("takes features alongside text.*got", check_extra_inputs, model, spec, True)
    refused("must yield texts, or dicts", with_input_checks, model, slices(IDS))


def test_a_task_that_learns_from_texts_alone_takes_no_labels(refused):
    task = SimpleNamespace(takes_labels=False, loss="mse")
    check_has_labels(task, False)
    refused("from texts alone", check_has_labels, task, True)
