"""Losses and metrics as users write them."""

import functools

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier, BertClassifierPreprocessor, BertTask
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


def test_a_loss_that_is_a_function(model, trains_as):
    trains_as(model, my_loss, my_loss, run_eagerly=False)


def test_a_partial_function_in_a_list_with_its_weight(model, trains_as):
    trains_as(model, [ENTROPY], lambda y, p: 0.5 * ENTROPY(y, p), loss_weights=[0.5])


def test_a_loss_class_that_is_not_registered(model, trains_as):
    twice = lambda y, p: 2 * my_loss(y, p)  # noqa: E731
    trains_as(model, MyLoss(), twice, sample_weight=WEIGHTS)


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


def test_a_regularizer_of_the_head(model, compiled, texts, labels, assert_close):
    loss, _ = compiled.evaluate(texts, labels, verbose=0)
    model.head.kernel_regularizer = keras.regularizers.L2(0.1)
    model.head.kernel.regularizer = model.head.kernel_regularizer
    kernel = keras.ops.convert_to_numpy(model.head.kernel)
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    regularized, _ = model.evaluate(texts, labels, verbose=0)
    assert_close(regularized, loss + 0.1 * np.sum(kernel**2))


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


@pytest.fixture
def of_several_labels(make_encoder, tokenizer):
    names = {"label_names": ["x", "y"], "multi_label": True}
    return BertClassifier(
        make_encoder(), preprocessor=BertClassifierPreprocessor(tokenizer, 8, **names)
    )


def test_f1_score_of_several_labels(of_several_labels, refused):
    f1 = keras.metrics.F1Score(average="macro", threshold=0.5)
    message = r"call scores\(x, y\) after training"
    refused(message, of_several_labels.compile, weighted_metrics=[f1])
    assert {"micro_f1", "macro_f1"} <= of_several_labels.scores(["a", "b"], [["x"], []]).keys()


def test_several_labels_by_binary_crossentropy(of_several_labels, assert_close):
    model, texts, y = of_several_labels, ["a", "b", "c d"], np.array([[1, 0], [0, 0], [1, 1]])
    logits = model.predict(texts, verbose=0)
    losses = np.logaddexp(0, logits) - y * logits
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    metrics = [keras.metrics.BinaryAccuracy(threshold=0.0)]
    model.compile(loss=loss, metrics=metrics, run_eagerly=EAGERLY)
    scores = model.evaluate(texts, y, verbose=0, return_dict=True)
    assert_close(scores["loss"], losses.mean())
    assert_close(scores["binary_accuracy"], np.mean((logits > 0) == y))


def test_a_regression_by_mse_and_mae(make_encoder, tokenizer, assert_close):
    preprocessor = BertClassifierPreprocessor(tokenizer, 8)
    model = BertClassifier(make_encoder(), num_classes=1, preprocessor=preprocessor)
    texts, y = ["a", "b", "c d"], [0.5, 1.0, -2.0]
    errors = model.predict(texts, verbose=0)[:, 0] - y
    model.compile(loss="mse", metrics=["mae"], run_eagerly=EAGERLY)
    scores = model.evaluate(texts, y, verbose=0, return_dict=True)
    assert_close(scores["loss"], np.mean(errors**2))
    assert_close(scores["mae"], np.mean(np.abs(errors)))


# Weights


def test_class_weight_multiplies_sample_weight(
    sgd_model, texts, labels, by_hand, same_weights, assert_close
):
    weights = [1, 2, 1, 0, 1, 1, 1, 0.5]
    options = {"class_weight": {1: 3.0}, "sample_weight": weights, "validation_split": 0.5}
    history = sgd_model.fit(texts, labels, **options, **PLAIN).history
    same_weights(sgd_model, by_hand(weights=[1, 6, 3, 0, 0, 0, 0, 0], rows=range(4))[1])
    half = sgd_model.evaluate(texts[4:], labels[4:], sample_weight=weights[4:], verbose=0)
    assert_close(history["val_loss"][0], half[0])  # without the weights of classes


def test_balanced_class_weight_counts_the_training_examples(
    sgd_model, texts, by_hand, same_weights
):
    labels = [0, 1, 1, 1, 0, 0, 0, 0]
    options = {"class_weight": "balanced", "validation_split": 0.5}
    sgd_model.fit(texts, labels, **options, **PLAIN)
    weights = np.array([4 / 2, 4 / 6])[labels]
    same_weights(sgd_model, by_hand(labels=labels, weights=weights, rows=range(4))[1])


def test_class_weight_as_an_array(sgd_model, texts, labels, refused):
    refused('class_weight.*dict of weights by class', sgd_model.fit, texts, labels,
            class_weight=np.array([1.0, 3.0]))  # fmt: skip
