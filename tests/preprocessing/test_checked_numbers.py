"""Labels and inputs of datasets, and extra inputs, are checked on their way to a model."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.preprocessing.bert_multiple_choice_preprocessor import with_choice_check
from keras_bert.preprocessing.class_labels import with_class_check
from keras_bert.preprocessing.forms import inputs_of
from keras_bert.preprocessing.prepared_inputs import with_input_checks
from keras_bert.preprocessing.task_checks import (
    check_extra_inputs,
    check_has_labels,
    example_weights,
    with_extra_arrays,
)

IDS = np.zeros((3, 4), "int32")
FEATURES = np.arange(6).reshape(3, 2)
slices = tf.data.Dataset.from_tensor_slices


def examples(labels, *weights):
    return slices(({"token_ids": np.zeros((len(labels), 4), "int32")}, labels, *weights))


def test_labels_of_the_classes_pass_unchanged():
    weights = np.array([0.5, 1, 2, 0])
    for dtype in ("int64", "uint8", "float32", "int8", "bool"):
        labels = np.array([0, 1, 2, 0]).astype(dtype)
        batches = examples(labels, weights).batch(3)
        in_columns = examples(labels[:, None], weights).batch(3)
        for given, plain in ((examples(labels),) * 2, (batches, batches), (in_columns, batches)):
            checked = with_class_check(given, 3)
            assert checked.element_spec == plain.element_spec and len(checked) == len(given)
            for found, expected in zip(checked, plain, strict=True):
                tf.nest.map_structure(tf.debugging.assert_equal, found, expected)
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
    for dataset in (examples(9 * np.eye(3)).batch(2), slices((np.zeros((2, 4)), {"a": [7, 8]}))):
        checked = with_class_check(dataset, 3)
        assert checked.element_spec == dataset.element_spec and len(list(checked)) == 2
    ragged = slices((np.zeros((2, 4)), tf.ragged.constant([[0, 1, 0], [1, 0, 0]]))).ragged_batch(2)
    one_hot = ragged.map(lambda x, y: (x, y.to_tensor()))
    assert with_class_check(one_hot, 3).element_spec[1].shape[-1] == 3


def test_no_labels_and_names_are_refused_at_once(refused):
    for dataset, message in (
        (slices({"token_ids": IDS}), "yields no labels; make it yield .x, label."),
        (examples(["good"]), "num_classes=3; the dataset yields strings.*label_names"),
    ):
        refused(message, with_class_check, dataset, 3)


def test_places_of_choices_are_checked_on_their_way(refused):
    mask = np.array([[[1, 1], [1, 0], [0, 0]], [[1, 1], [1, 1], [1, 0]]], "int32")
    bare, inputs = {"token_ids": mask}, {"token_ids": mask, "padding_mask": mask}
    for x, right, wrong in (
        (inputs, [1, 2], [2, 2]),
        (inputs, [0, 1], [-1, 0]),
        (bare, [2, 2], [2, 3]),
    ):
        [(_, labels)] = with_choice_check(slices((x, right)).batch(2))
        assert labels.numpy().tolist() == right
        with pytest.raises(tf.errors.InvalidArgumentError, match="question.*s choices, from 0"):
            list(with_choice_check(slices((x, wrong)).batch(2)))
    refused("yields no labels", with_choice_check, slices(inputs))


@pytest.fixture(scope="module")
def model():
    """What of a task with two features is looked at."""
    ids, features = keras.Input((None,), name="token_ids"), keras.Input((2,), name="features")
    return SimpleNamespace(
        backbone=SimpleNamespace(
            input={"token_ids": ids}, vocabulary_size=9, num_segments=2, max_sequence_length=4
        ),
        input={"token_ids": ids, "features": features},
        takes_columns=False,
        takes_packed_rows=False,
    )


def test_datasets_of_prepared_inputs_are_checked_on_their_way(model):
    x = {"token_ids": IDS, "features": FEATURES.astype("float64")}
    for data in (x, (x, [0, 1, 2])):
        single, dataset = slices(data), slices(data).batch(2)
        check_extra_inputs(model, inputs_of(single.element_spec), may_be_one=True)
        check_extra_inputs(model, inputs_of(dataset.element_spec), may_be_one=True)
        checked = with_input_checks(model, dataset)
        spec = checked.element_spec if data is x else checked.element_spec[0]
        assert spec["features"].dtype == tf.float32
        assert len(list(checked)) == len(dataset)
    x["features"][2, 1] = np.inf
    with pytest.raises(tf.errors.InvalidArgumentError, match="features must be finite numbers"):
        list(with_input_checks(model, slices(x).batch(2)))


def test_missing_or_misshapen_extra_inputs_are_refused(model, refused):
    for x, message in (
        (["a"] * 3, r"takes features alongside text: give {'text': texts, 'features': \[n, 2\]"),
        (np.array(["a"] * 3), "takes features alongside text"),
        (slices(["a"]), "takes features alongside text"),
        ({"text": ["a"] * 3, "features": FEATURES[:, :1]}, r"\[n, 2\].*shape \(3, 1\)"),
        ({"text": ["a"] * 3, "features": [1, 2, 3]}, r"\[n, 2\].*shape \(3,\)"),
        (slices({"text": ["a"], "features": IDS[:1]}), r"\[n, 2\].*shape \(4,\)"),
        ({"text": ["a"], "features": [["x", "y"]]}, r"must be numbers, a row.*table\[\['age"),
    ):
        if isinstance(x, tf.data.Dataset):
            refused(message, check_extra_inputs, model, inputs_of(x.element_spec))
        else:
            refused(message, with_extra_arrays, model, x)


def test_labels_are_given_to_a_task_that_takes_them(refused):
    for takes, message in ((True, "There are no labels: pass y"), (False, "from texts alone")):
        compiled = SimpleNamespace(takes_labels=takes, loss="mse")
        check_has_labels(compiled, takes)
        refused(message, check_has_labels, compiled, not takes)
        check_has_labels(SimpleNamespace(takes_labels=takes, loss=None), not takes)


def test_weights_keep_the_form_of_the_outputs():
    tokens = SimpleNamespace(shape=(None, None, 3))
    for output, weights, expected in (
        (SimpleNamespace(shape=(None, 3)), [[1], [2]], [1, 2]),
        (tokens, [[1, 0], [1, 1]], [[1, 0], [1, 1]]),
        ({"words": tokens}, {"words": [[1, 0]]}, {"words": [[1, 0]]}),
    ):
        task = SimpleNamespace(output=output, check_labels=lambda y: None)
        found = example_weights(task, None, weights)
        assert keras.tree.map_structure(np.ndarray.tolist, found) == expected
