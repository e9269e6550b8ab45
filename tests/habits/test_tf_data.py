"""Datasets of `tf.data`, made in the ways in which users make them."""

import numpy as np
import pytest

from tests.habits.conftest import LABELS, NAMES, TEXTS, WEIGHTS

NAMED = [NAMES[label] for label in LABELS]


def from_generator(tf):
    signature = (tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int32))
    examples = zip(TEXTS, LABELS, strict=True)
    return tf.data.Dataset.from_generator(lambda: iter([*examples]), output_signature=signature)


def zipped(tf):
    columns = map(tf.data.Dataset.from_tensor_slices, (TEXTS, NAMED))
    return tf.data.Dataset.zip(tuple(columns)).batch(4)


def mapped(tf):
    upper = [text.upper() for text in TEXTS]
    dataset = tf.data.Dataset.from_tensor_slices((upper, np.array(LABELS)[:, None]))
    return dataset.map(lambda x, y: (tf.strings.lower(x), y), tf.data.AUTOTUNE).batch(4)


def of_dicts(tf):
    floats = np.array(LABELS, "float32")
    return tf.data.Dataset.from_tensor_slices(({"text": TEXTS}, floats)).batch(4)


@pytest.mark.parametrize("make", [from_generator, zipped, mapped, of_dicts])
def test_each_dataset_is_read_as_lists(make, tf, reads_as_lists):
    reads_as_lists(make(tf))


def test_repeat_and_steps_per_epoch(sgd_model, dataset, plain, trained_as, assert_close):
    ds = dataset.batch(4).repeat()
    options = {"validation_data": ds, "validation_steps": 2, "verbose": 0}
    history = sgd_model.fit(ds, epochs=2, steps_per_epoch=2, **options)
    trained_as(sgd_model, history, plain(2))
    expected = sgd_model.evaluate(dataset.batch(4), verbose=0)[0]
    assert_close(history.history["val_loss"][1], expected)


def test_filter(sgd_model, tf, dataset, by_hand, trained_as):
    ds = dataset.filter(lambda x, y: tf.strings.length(x) > 1).batch(4)
    history = sgd_model.fit(ds, verbose=0)
    trained_as(sgd_model, history, by_hand(rows=[0, 2, 3, 4, 6, 7]))
    assert int(sgd_model.optimizer.iterations) == 2


def test_class_weight_with_triples(sgd_model, tf, texts, labels, by_hand, same_weights):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels, WEIGHTS)).batch(4)
    sgd_model.fit(ds, class_weight={0: 1, 1: 3.0}, verbose=0)
    same_weights(sgd_model, by_hand(weights=np.array([1, 3])[labels] * WEIGHTS)[1])


def test_what_needs_examples_in_memory_is_refused(sgd_model, dataset, labels, refused):
    ds = dataset.batch(4)
    refused("leave y and sample_weight out", sgd_model.fit, ds, labels)
    refused("leave y and sample_weight out", sgd_model.fit, ds, sample_weight=WEIGHTS)
    refused("leave y and sample_weight out", sgd_model.fit, ds.map(lambda x, y: x), labels)


def test_a_dataset_of_unknown_shapes_is_read_by_its_values(tf, reads_as_lists):
    rows = list(zip(TEXTS, NAMED, strict=True))
    untyped = tf.data.Dataset.from_generator(lambda: iter(rows), (tf.string, tf.string))
    reads_as_lists(untyped)


def test_a_dataset_without_texts_is_refused(sgd_model, tf, df, refused):
    columns = {"a": list(df["text"]), "b": list(df["label"])}
    refused("Text 0 is .*not a string", sgd_model.fit, tf.data.Dataset.from_tensor_slices(columns))


def test_empty_datasets_are_refused(sgd_model, dataset, refused):
    of_unknown_length = dataset.filter(lambda x, y: False)
    for empty in (dataset.take(0), of_unknown_length):
        refused("no examples", sgd_model.fit, empty.batch(4))


def test_a_dataset_with_labels_is_predicted_and_answered(compiled, dataset, texts, assert_close):
    ds = dataset.batch(3)
    assert_close(compiled.predict(ds, verbose=0), compiled.predict(texts, verbose=0))
    found = [answer["label"] for answer in compiled.answer(ds)]
    assert found == [answer["label"] for answer in compiled.answer(texts)]


def test_the_preprocessor_in_map(sgd_model, dataset, plain, trained_as):
    preprocessor = sgd_model.preprocessor
    ds = dataset.batch(4).map(lambda x, y: (preprocessor(x), y))
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())
