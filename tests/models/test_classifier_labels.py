"""Labels of classifiers: by name, by number, weighed, and those that are refused."""

import functools
import re

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier
from keras_bert.data.data import warn_of_split
from keras_bert.preprocessing.forms import take
from tests.models.test_bert_classifier import TEXTS
from tests.models.test_every_task import of_one_class

LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1])
NAMES = ["low", "mid", "high"]


@pytest.fixture
def model(make_classifier, eager):
    """A classifier that no step changes."""
    model = make_classifier(dropout=0.0, label_names=NAMES)
    return eager(model, optimizer=keras.optimizers.SGD(0.0))


def test_a_single_label_is_a_sigmoid_too(make_classifier, eager, inputs):
    model = eager(make_classifier(label_names=["red"], multi_label=True))
    assert isinstance(model.loss, keras.losses.BinaryCrossentropy)
    assert set(model.answer(inputs)[0]) == {"probabilities", "is_label", "labels"}


def test_one_hot_labels_are_for_losses_that_take_them(model, inputs, refused):
    """Whoever follows the error trains; it doesn't lead to the next error."""
    one_hot = np.eye(3)[LABELS]
    expected = model.evaluate(TEXTS, LABELS)[0]
    bare, as_lists = BertClassifier(model.backbone, 3), one_hot.astype(int).tolist()
    refused(r"one-hot, \[n, 3\].*argmax\(axis=1\).*multi_label", bare.fit, inputs, as_lists)
    for metrics, labels in (([], one_hot), ([keras.metrics.F1Score("macro")], LABELS)):
        model.compile("sgd", weighted_metrics=metrics)
        with pytest.raises(ValueError, match="one-hot") as error:
            model.fit(TEXTS, labels)
        advice = re.search(r"loss=(keras\.losses\.\w+\(from_logits=True\))", str(error.value))
        still = {"optimizer": keras.optimizers.SGD(0.0), "run_eagerly": True}
        model.compile(loss=eval(advice[1]), weighted_metrics=metrics, **still)
        found = model.fit(TEXTS, one_hot).history["loss"]
        assert found == [pytest.approx(expected, rel=1e-5)]
        refused("CategoricalCrossentropy takes one-hot labels", model.fit, TEXTS, LABELS)


def test_class_weights_weigh_the_loss_of_each_class_in_every_form(model, eager, randomized, tf):
    logits = randomized(model).predict(TEXTS)
    losses, _ = of_one_class(logits, LABELS)
    names, own = np.array(NAMES)[LABELS], np.arange(8.0)

    def check(by_class, weights, *data, **options):
        [found] = model.fit(*data, **options).history["loss"]
        expected = (losses * by_class[LABELS] * weights).mean()
        assert found == pytest.approx(expected, rel=1e-5)

    check(8 / (3 * np.array([3, 3, 2])), 1.0, TEXTS, names, class_weight="balanced")
    by_class, given = np.array([3.0, 1.0, 0.25]), {"class_weight": {"low": 3.0, 2: 0.25}}
    check(by_class, own, TEXTS, names, sample_weight=own[:, None], **given)
    batch = dict(model.preprocessor(TEXTS)), np.eye(3)[LABELS], own
    eager(
        model,
        loss=keras.losses.CategoricalCrossentropy(from_logits=True),
        optimizer="sgd",
    )
    check(by_class, own, tf.data.Dataset.from_tensors(batch), **given)


def test_class_weights_are_of_the_training_part_alone(model, inputs):
    names = np.array(NAMES)[LABELS]
    fit = functools.partial(model.fit, class_weight="balanced")
    expected = fit(take(inputs, slice(5)), names[:5]).history["loss"]
    found = fit(inputs, names, validation_split=0.375).history["loss"]
    assert found == pytest.approx(expected, rel=1e-5)


def test_classes_are_counted_in_every_form_of_labels(model):
    expected = {"low": 2, "mid": 1, "high": 0}
    for labels in ([[0], [0], [1]], np.eye(3)[[0, 0, 1]]):
        assert model.class_counts(labels) == expected
    model.preprocessor = model.preprocessor.like(model.preprocessor, multi_label=True)
    assert model.class_counts([["low"], ["low", "mid"], []]) == expected


def test_held_out_labels_of_one_class_are_told_from_ten_on(model, caplog):
    for number in (9, 10):
        warn_of_split(model.labels.names, np.arange(3), np.zeros(number, int))
        assert len(caplog.records) == number - 9
