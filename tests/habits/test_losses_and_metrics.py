"""Losses and metrics as users write them."""

import functools

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier, BertTask
from tests.habits.conftest import EAGERLY, PLAIN, WEIGHTS

SGD = keras.optimizers.SGD
ENTROPY = functools.partial(keras.losses.sparse_categorical_crossentropy, from_logits=True)


def my_loss(y_true, y_pred):
    y_true = keras.ops.cast(keras.ops.reshape(y_true, (-1,)), "int32")
    probabilities = keras.ops.softmax(y_pred)
    right = keras.ops.sum(probabilities * keras.ops.one_hot(y_true, 2), axis=-1)
    return (1 - right) ** 2


class MyLoss(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return 2 * my_loss(y_true, y_pred)


@pytest.fixture
def trains_as(texts, labels, by_hand, trained_as):
    """A function that asserts that a model trains with a loss as by hand with another."""

    def check(model, loss, expected, y=labels, sample_weight=None, run_eagerly=EAGERLY, **compiled):
        model.compile(SGD(0.1), loss=loss, run_eagerly=run_eagerly, **compiled)
        history = model.fit(texts, y, sample_weight=sample_weight, **PLAIN)
        trained_as(model, history, by_hand(expected, weights=sample_weight))

    return check


def test_a_partial_function_in_a_list_with_its_weight(model, trains_as):
    trains_as(model, [ENTROPY], lambda y, p: 0.5 * ENTROPY(y, p), loss_weights=[0.5])


def test_a_loss_class_whose_reduction_is_sum(model, texts, labels, by_hand, same_weights):
    model.compile(SGD(0.1), loss=MyLoss(reduction="sum"), run_eagerly=EAGERLY)
    model.fit(texts, labels, **PLAIN)
    same_weights(model, by_hand(lambda y, p: 4 * 2 * my_loss(y, p))[1])


def test_one_hot_labels_that_are_smoothed(model, labels, trains_as):
    def smoothed(y_true, y_pred):
        y_true = 0.8 * keras.ops.one_hot(y_true, 2) + 0.1
        return -keras.ops.sum(y_true * keras.ops.log_softmax(y_pred), axis=-1)

    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)
    trains_as(model, loss, smoothed, y=keras.utils.to_categorical(labels))


class Penalty(keras.layers.Layer):
    def call(self, logits):
        self.add_loss(0.01 * keras.ops.mean(logits**2))
        return logits


def test_a_layer_with_add_loss(model, trains_as):
    outputs = Penalty()(model.output)
    task = BertTask(dict(model.input), outputs, model.backbone, model.preprocessor)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trains_as(task, loss, lambda y, p: ENTROPY(y, p) + 0.01 * keras.ops.mean(p**2))


class WithComputeLoss(BertClassifier):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **kwargs):
        return 2.0 * super().compute_loss(x, y, y_pred, sample_weight, **kwargs)


def test_compute_loss_in_a_subclass(preset, trains_as):
    trains_as(WithComputeLoss.from_preset(preset), None, lambda y, p: 2 * ENTROPY(y, p))


# Metrics


def share_of_yes(y_true, y_pred):
    return keras.ops.cast(y_pred[:, 1] > y_pred[:, 0], "float32")


class ShareOfYes(keras.metrics.Metric):
    def __init__(self, name="share_of_yes", **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        is_yes = share_of_yes(y_true, y_pred)
        self.total.assign_add(keras.ops.sum(is_yes))
        self.count.assign_add(keras.ops.cast(keras.ops.size(is_yes), "float32"))

    def result(self):
        return self.total / self.count


def test_metrics_by_name_function_and_class(model, compiled, texts, labels, assert_close):
    wrapper = keras.metrics.MeanMetricWrapper(ENTROPY, name="entropy")
    metrics = ["acc", "sparse_categorical_accuracy", share_of_yes, ShareOfYes("of_class"), wrapper]
    model.compile(metrics=metrics, weighted_metrics=["accuracy"])
    options = {"batch_size": 3, "return_dict": True, "verbose": 0}
    scores = model.evaluate(texts, labels, sample_weight=WEIGHTS, **options)
    is_yes = np.array([answer["label"] == "yes" for answer in compiled.answer(texts)])
    is_right = is_yes == labels
    expected = {
        "acc": is_right.mean(),
        "sparse_categorical_accuracy": is_right.mean(),
        "share_of_yes": is_yes.mean(),
        "of_class": is_yes.mean(),
        "entropy": compiled.evaluate(texts, labels, verbose=0)[0],
        "accuracy": np.average(is_right, weights=WEIGHTS),
    }
    loss = scores.pop("loss")
    assert np.isfinite(loss)
    assert_close(scores, expected)
