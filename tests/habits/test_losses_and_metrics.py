"""Losses and metrics as users write them."""

import functools

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier, BertTask
from keras_bert.losses import LogitCrossentropy
from tests.habits.conftest import EAGERLY, LABELS, NAMED, PLAIN, TEXTS, WEIGHTS

ENTROPY = functools.partial(keras.losses.sparse_categorical_crossentropy, from_logits=True)


def squared(y_true, y_pred):
    y_true = keras.ops.cast(keras.ops.reshape(y_true, (-1,)), "int32")
    probabilities = keras.ops.softmax(y_pred)
    right = keras.ops.sum(probabilities * keras.ops.one_hot(y_true, 2), axis=-1)
    return (1 - right) ** 2


class MeanSquaredLoss(keras.losses.Loss):
    """Takes class numbers, though it is called like losses of Keras that don't."""

    def call(self, y_true, y_pred):
        return squared(y_true, y_pred)


def smoothed(y_true, y_pred):
    y_true = 0.8 * keras.ops.one_hot(keras.ops.cast(y_true, "int32"), 2) + 0.1
    return -keras.ops.sum(y_true * keras.ops.log_softmax(y_pred), axis=-1)


SMOOTHED = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)


def mean_entropy(y_true, y_pred):
    return keras.ops.mean(ENTROPY(y_true, y_pred))


LOSSES = [  # arguments of `compile`, labels, parts of a batch, and the losses of examples
    (
        {"loss": [ENTROPY], "loss_weights": [0.5]},
        LABELS,
        1,
        lambda y_true, y_pred: 0.5 * ENTROPY(y_true, y_pred),
    ),
    *(({"loss": mean_entropy}, LABELS, parts, ENTROPY) for parts in (1, 2)),
    (
        {"loss": MeanSquaredLoss(reduction="sum")},
        LABELS,
        1,
        lambda y_true, y_pred: 4 * squared(y_true, y_pred),
    ),
    ({"loss": SMOOTHED}, keras.utils.to_categorical(LABELS), 2, smoothed),
    ({"loss": LogitCrossentropy(label_smoothing=0.2)}, NAMED, 2, smoothed),
]


@pytest.fixture
def trains_as(plain, trained_as):
    """A function that asserts that a model trains as a plain one does with some loss."""

    def check(model, expected, y=LABELS, parts=1, **compiled):
        model.compile(keras.optimizers.SGD(0.1), run_eagerly=EAGERLY, **compiled)
        history = model.fit(TEXTS, y, accumulation_steps=parts, **PLAIN)
        trained_as(model, history, plain(loss=expected))

    return check


def test_losses_of_users(model, trains_as):
    start = model.get_weights()
    for compiled, y, parts, expected in LOSSES:
        model.set_weights(start)
        trains_as(model, expected, y, parts, **compiled)


class Penalty(keras.layers.Layer):
    def call(self, logits):
        self.add_loss(0.01 * keras.ops.mean(logits**2))
        return logits


def test_a_layer_with_add_loss(model, trains_as):
    outputs = Penalty()(model.output)
    task = BertTask(dict(model.input), outputs, model.backbone, model.preprocessor)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    trains_as(task, lambda y, p: ENTROPY(y, p) + 0.01 * keras.ops.mean(p**2), loss=loss)


class WithComputeLoss(BertClassifier):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **kwargs):
        return 2.0 * super().compute_loss(x, y, y_pred, sample_weight, **kwargs)


def test_compute_loss_in_a_subclass(preset, trains_as):
    trains_as(WithComputeLoss.from_preset(preset), lambda y, p: 2 * ENTROPY(y, p))


def mean_squared_of_mine(y_true, y_pred):
    """The share of "yes", though it is called like metrics of Keras that need one-hot labels."""
    return keras.ops.cast(y_pred[:, 1] > y_pred[:, 0], "float32")


class ShareOfYes(keras.metrics.Mean):
    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(mean_squared_of_mine(y_true, y_pred))


def test_metrics_by_name_function_and_class(model, compiled, assert_close):
    wrapper = keras.metrics.MeanMetricWrapper(ENTROPY, name="entropy")
    metrics = ["acc", mean_squared_of_mine, ShareOfYes("of_class"), wrapper]
    model.compile(metrics=metrics, weighted_metrics=["accuracy"], run_eagerly=EAGERLY)
    options = {"batch_size": 3, "return_dict": True}
    scores = model.evaluate(TEXTS, LABELS, sample_weight=WEIGHTS, **options)
    is_yes = np.array([answer["label"] == "yes" for answer in compiled.answer(TEXTS)])
    is_right = is_yes == LABELS
    expected = {
        "acc": is_right.mean(),
        "mean_squared_of_mine": is_yes.mean(),
        "of_class": is_yes.mean(),
        "entropy": compiled.evaluate(TEXTS, LABELS)[0],
        "accuracy": np.average(is_right, weights=WEIGHTS),
    }
    assert np.isfinite(scores.pop("loss"))
    assert_close(scores, expected)
