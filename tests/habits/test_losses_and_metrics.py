"""Losses and metrics as users write them."""

import functools

import keras
import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from keras_bert import BertClassifier, BertClassifierPreprocessor, BertTask
from keras_bert.estimators import TextClassifier
from tests.habits.conftest import PLAIN

SGD = keras.optimizers.SGD


def my_loss(y_true, y_pred):
    y_true = keras.ops.cast(keras.ops.reshape(y_true, (-1,)), "int32")
    probabilities = keras.ops.softmax(y_pred)
    right = keras.ops.sum(probabilities * keras.ops.one_hot(y_true, 2), axis=-1)
    return (1 - right) ** 2


class MyLoss(keras.losses.Loss):
    def __init__(self, scale=2.0, **kwargs):
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, y_true, y_pred):
        return self.scale * my_loss(y_true, y_pred)


@keras.saving.register_keras_serializable("habits")
class RegisteredLoss(MyLoss):
    def get_config(self):
        return {**super().get_config(), "scale": self.scale}


def twice(y_true, y_pred):
    return 2 * my_loss(y_true, y_pred)


def test_a_loss_that_is_a_function(model, texts, labels, by_hand, trained_as):
    model.compile(SGD(0.1), loss=my_loss)
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand(my_loss))


@pytest.mark.slow
def test_a_loss_that_is_a_lambda(model, texts, labels, by_hand, trained_as):
    model.compile(SGD(0.1), loss=lambda y_true, y_pred: 2 * my_loss(y_true, y_pred))
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand(twice))


def test_a_loss_class_that_is_not_registered(model, texts, labels, by_hand, trained_as):
    model.compile(SGD(0.1), loss=MyLoss())
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand(twice))


@pytest.mark.slow
def test_a_loss_class_that_is_registered(model, texts, labels, by_hand, trained_as):
    model.compile(SGD(0.1), loss=RegisteredLoss(2.0))
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand(twice))


@pytest.mark.slow
def test_a_partial_function_as_the_loss(model, texts, labels, by_hand, trained_as):
    entropy = keras.losses.sparse_categorical_crossentropy
    model.compile(SGD(0.1), loss=functools.partial(entropy, from_logits=True))
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand())


@pytest.mark.slow
def test_a_loss_function_that_takes_the_mean_itself(model, texts, labels, by_hand, trained_as):
    model.compile(SGD(0.1), loss=lambda y_true, y_pred: keras.ops.mean(my_loss(y_true, y_pred)))
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand(my_loss))


@pytest.mark.slow
def test_a_custom_loss_in_evaluate(model, texts, labels, assert_close):
    model.compile(loss=my_loss, metrics=["accuracy"])
    answers = model.answer(texts)
    right = np.array([a["probabilities"][n] for a, n in zip(answers, labels, strict=True)])
    loss, _ = model.evaluate(texts, labels, verbose=0)
    assert_close(loss, np.mean((1 - right) ** 2))


@pytest.mark.slow
def test_a_custom_loss_with_sample_weights(model, texts, labels, by_hand, trained_as):
    weights = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
    model.compile(SGD(0.1), loss=MyLoss())
    history = model.fit(texts, labels, sample_weight=weights, **PLAIN)
    trained_as(model, history, by_hand(twice, weights=weights))


@pytest.mark.slow
def test_a_loss_class_whose_reduction_is_sum(model, texts, labels, by_hand, same_weights):
    model.compile(SGD(0.1), loss=MyLoss(reduction="sum"))
    model.fit(texts, labels, **PLAIN)
    same_weights(model, by_hand(lambda y, p: 4 * twice(y, p))[1])


@pytest.mark.slow
def test_a_custom_loss_that_knows_class_weights(model, texts, labels, by_hand, trained_as):
    by_class = keras.ops.convert_to_tensor([1.0, 3.0])

    def weighted(y_true, y_pred):
        numbers = keras.ops.cast(keras.ops.reshape(y_true, (-1,)), "int32")
        return keras.ops.take(by_class, numbers) * my_loss(y_true, y_pred)

    model.compile(SGD(0.1), loss=weighted)
    history = model.fit(texts, labels, **PLAIN)
    trained_as(model, history, by_hand(weighted))


def test_a_loss_by_name_takes_probabilities(model):
    with pytest.raises(ValueError, match=r"SparseCategoricalCrossentropy\(from_logits=True\)"):
        model.compile(loss="sparse_categorical_crossentropy")


def test_a_loss_object_without_from_logits(model):
    with pytest.raises(ValueError, match=r"SparseCategoricalCrossentropy\(from_logits=True\)"):
        model.compile(loss=keras.losses.SparseCategoricalCrossentropy())


@pytest.mark.slow
def test_a_loss_of_logits(model, texts, labels, plain, trained_as):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=SGD(0.1), loss=loss, metrics=["accuracy"])
    trained_as(model, model.fit(texts, labels, **PLAIN), plain())


@pytest.mark.slow
def test_no_loss_is_the_loss_of_the_task(model, texts, labels, plain, trained_as):
    model.compile(optimizer=SGD(0.1))
    trained_as(model, model.fit(texts, labels, **PLAIN), plain())


def test_losses_in_a_list(model, texts, labels, plain, trained_as):
    model.compile(SGD(0.1), loss=[keras.losses.SparseCategoricalCrossentropy(from_logits=True)])
    trained_as(model, model.fit(texts, labels, **PLAIN), plain())


@pytest.mark.slow
def test_a_loss_weight_scales_the_loss(model, texts, labels, by_hand, trained_as):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(SGD(0.1), loss=[loss], loss_weights=[0.5])
    history = model.fit(texts, labels, **PLAIN)
    losses, expected = by_hand(rate=0.05)
    trained_as(model, history, ([loss / 2 for loss in losses], expected))


def test_binary_crossentropy_of_two_classes(model, texts, labels):
    with pytest.raises(ValueError, match="leave it out of compile"):
        model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
        model.fit(texts, labels, verbose=0)


def test_one_hot_labels(model, texts, labels):
    with pytest.raises(ValueError, match=r"y\.argmax\(axis=1\)"):
        model.fit(texts, keras.utils.to_categorical(labels), verbose=0)


@pytest.mark.slow
def test_one_hot_labels_with_their_loss(model, texts, labels, plain, trained_as):
    model.compile(SGD(0.1), loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    history = model.fit(texts, keras.utils.to_categorical(labels), **PLAIN)
    trained_as(model, history, plain())


@pytest.mark.slow
def test_label_smoothing(model, texts, labels, by_hand, trained_as):
    def smoothed(y_true, y_pred):
        y_true = 0.8 * keras.ops.one_hot(y_true, 2) + 0.1
        return -keras.ops.sum(y_true * keras.ops.log_softmax(y_pred), axis=-1)

    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)
    model.compile(SGD(0.1), loss=loss)
    history = model.fit(texts, keras.utils.to_categorical(labels), **PLAIN)
    trained_as(model, history, by_hand(smoothed))


@pytest.mark.slow
def test_focal_loss(model, texts, labels, by_hand, trained_as):
    def focal(y_true, y_pred):
        right = keras.ops.sum(keras.ops.softmax(y_pred) * keras.ops.one_hot(y_true, 2), axis=-1)
        return -0.25 * (1 - right) ** 2 * keras.ops.log(right)

    model.compile(SGD(0.1), loss=keras.losses.CategoricalFocalCrossentropy(from_logits=True))
    history = model.fit(texts, keras.utils.to_categorical(labels), **PLAIN)
    trained_as(model, history, by_hand(focal))


@pytest.mark.slow
def test_a_regularizer_of_the_head(model, texts, labels, assert_close):
    model.compile(SGD(0.1))
    loss, _ = model.evaluate(texts, labels, verbose=0)
    model.head.kernel_regularizer = keras.regularizers.L2(0.1)
    model.head.kernel.regularizer = model.head.kernel_regularizer
    kernel = keras.ops.convert_to_numpy(model.head.kernel)
    model.compile(SGD(0.1))
    regularized, _ = model.evaluate(texts, labels, verbose=0)
    assert_close(regularized, loss + 0.1 * np.sum(kernel**2))


class Penalty(keras.layers.Layer):
    def call(self, logits):
        self.add_loss(0.01 * keras.ops.mean(logits**2))
        return logits


@pytest.mark.slow
def test_a_layer_with_add_loss(model, texts, labels, by_hand, trained_as):
    def penalized(y_true, y_pred):
        entropy = keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        return entropy + 0.01 * keras.ops.mean(y_pred**2)

    outputs = Penalty()(model.output)
    task = BertTask(dict(model.input), outputs, model.backbone, model.preprocessor)
    task.compile(SGD(0.1), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = task.fit(texts, labels, **PLAIN)
    trained_as(task, history, by_hand(penalized))


class WithComputeLoss(BertClassifier):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **kwargs):
        return 2.0 * super().compute_loss(x, y, y_pred, sample_weight, **kwargs)


@pytest.mark.slow
def test_compute_loss_in_a_subclass(preset, texts, labels, by_hand, trained_as):
    model = WithComputeLoss.from_preset(preset)
    model.compile(SGD(0.1))
    history = model.fit(texts, labels, **PLAIN)
    losses, expected = by_hand(rate=0.2)
    trained_as(model, history, ([2 * loss for loss in losses], expected))


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


@pytest.fixture
def answered(compiled, texts):
    return np.array([answer["label"] == "yes" for answer in compiled.answer(texts)])


@pytest.mark.slow
def test_a_metric_that_is_a_function(model, texts, labels, answered, assert_close):
    model.compile(metrics=[share_of_yes])
    scores = model.evaluate(texts, labels, return_dict=True, verbose=0)
    assert_close(scores["share_of_yes"], answered.mean())


def test_a_metric_that_is_a_class(model, texts, labels, answered, assert_close):
    model.compile(metrics=[ShareOfYes()])
    scores = model.evaluate(texts, labels, batch_size=3, return_dict=True, verbose=0)
    assert_close(scores["share_of_yes"], answered.mean())


@pytest.mark.slow
def test_accuracy_by_name(model, texts, labels, answered, assert_close):
    model.compile(metrics=["accuracy"])
    loss, accuracy = model.evaluate(texts, labels, verbose=0)
    assert_close(accuracy, np.mean(answered == labels))


@pytest.mark.slow
def test_acc_by_name(model, texts, labels, answered, assert_close):
    model.compile(optimizer="sgd", metrics=["acc"])
    scores = model.evaluate(texts, labels, verbose=0, return_dict=True)
    assert_close(scores["acc"], np.mean(answered == labels))


@pytest.mark.slow
def test_a_metric_by_its_long_name(model, texts, labels, answered, assert_close):
    model.compile(metrics=["sparse_categorical_accuracy"])
    scores = model.evaluate(texts, labels, verbose=0, return_dict=True)
    assert_close(scores["sparse_categorical_accuracy"], np.mean(answered == labels))


@pytest.mark.slow
def test_several_metrics_in_the_history(model, texts, labels):
    model.compile(metrics=["accuracy", share_of_yes, ShareOfYes(name="again")])
    history = model.fit(texts, labels, validation_data=(texts, labels), verbose=0).history
    names = ["loss", "accuracy", "share_of_yes", "again"]
    assert {*history} == {*names, *(f"val_{name}" for name in names)}
    assert history["share_of_yes"] == history["again"]


@pytest.mark.slow
def test_weighted_metrics(model, texts, labels, answered, assert_close):
    weights = np.array([0.0, 1, 2, 0, 1, 3, 1, 0.5])
    model.compile(weighted_metrics=["accuracy"])
    scores = model.evaluate(texts, labels, sample_weight=weights, verbose=0, return_dict=True)
    assert_close(scores["accuracy"], np.average(answered == labels, weights=weights))


def test_crossentropy_as_a_metric_of_probabilities(model):
    with pytest.raises(ValueError, match=r"SparseCategoricalCrossentropy\(from_logits=True\)"):
        model.compile(metrics=[keras.metrics.SparseCategoricalCrossentropy()])


def test_precision_and_recall(model):
    with pytest.raises(ValueError, match=r"call scores\(x, y\) after training"):
        model.compile(metrics=[keras.metrics.Precision(), keras.metrics.Recall()])


def test_auc_by_name(model, texts, labels):
    with pytest.raises(ValueError, match=r"call scores\(x, y\) after training|from_logits=True"):
        model.compile(metrics=["AUC"])


def test_f1_score_of_several_labels(make_encoder, tokenizer):
    names = {"label_names": ["x", "y"], "multi_label": True}
    preprocessor = BertClassifierPreprocessor(tokenizer, 8, **names)
    model = BertClassifier(make_encoder(), preprocessor=preprocessor)
    with pytest.raises(ValueError, match=r"call scores\(x, y\) after training"):
        model.compile(weighted_metrics=[keras.metrics.F1Score(average="macro", threshold=0.5)])
    assert {"micro_f1", "macro_f1"} <= model.scores(["a", "b"], [["x"], []]).keys()


@pytest.mark.slow
def test_several_labels_by_binary_crossentropy(make_encoder, tokenizer, assert_close):
    names = {"label_names": ["x", "y"], "multi_label": True}
    preprocessor = BertClassifierPreprocessor(tokenizer, 8, **names)
    model = BertClassifier(make_encoder(), preprocessor=preprocessor)
    texts, y = ["a", "b", "c d"], np.array([[1, 0], [0, 0], [1, 1]])
    logits = model.predict(texts, verbose=0)
    losses = np.logaddexp(0, logits) - y * logits
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(loss=loss, metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)])
    scores = model.evaluate(texts, y, verbose=0, return_dict=True)
    assert_close(scores["loss"], losses.mean())
    assert_close(scores["binary_accuracy"], np.mean((logits > 0) == y))


@pytest.mark.slow
def test_a_regression_by_mse_and_mae(make_encoder, tokenizer, assert_close):
    preprocessor = BertClassifierPreprocessor(tokenizer, 8)
    model = BertClassifier(make_encoder(), num_classes=1, preprocessor=preprocessor)
    texts, y = ["a", "b", "c d"], [0.5, 1.0, -2.0]
    errors = model.predict(texts, verbose=0)[:, 0] - y
    model.compile(loss="mse", metrics=["mae"])
    scores = model.evaluate(texts, y, verbose=0, return_dict=True)
    assert_close(scores["loss"], np.mean(errors**2))
    assert_close(scores["mae"], np.mean(np.abs(errors)))


@pytest.mark.slow
def test_huber_loss_of_a_regression(make_encoder, tokenizer, assert_close):
    preprocessor = BertClassifierPreprocessor(tokenizer, 8)
    model = BertClassifier(make_encoder(), num_classes=1, preprocessor=preprocessor)
    texts, y = ["a", "b", "c d"], [0.5, 1.0, -2.0]
    errors = np.abs(model.predict(texts, verbose=0)[:, 0] - y)
    model.compile(loss=keras.losses.Huber())
    losses = np.where(errors < 1, errors**2 / 2, errors - 0.5)
    assert_close(model.evaluate(texts, y, verbose=0), losses.mean())


# Weights


@pytest.mark.slow
def test_class_weight_by_number(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(texts, labels, class_weight={0: 1.0, 1: 3.0}, **PLAIN)
    same_weights(sgd_model, by_hand(weights=[1, 3, 3, 1, 3, 3, 1, 3])[1])


@pytest.mark.slow
def test_class_weight_by_name(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(texts, labels, class_weight={"yes": 3.0}, **PLAIN)
    same_weights(sgd_model, by_hand(weights=[1, 3, 3, 1, 3, 3, 1, 3])[1])


@pytest.mark.slow
def test_class_weight_by_scikit_learn(sgd_model, texts, labels, by_hand, same_weights):
    values = compute_class_weight("balanced", classes=np.unique(labels), y=labels)
    sgd_model.fit(texts, labels, class_weight=dict(enumerate(values)), **PLAIN)
    same_weights(sgd_model, by_hand(weights=values[labels])[1])


@pytest.mark.slow
def test_class_weight_balanced(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(texts, labels, class_weight="balanced", **PLAIN)
    same_weights(sgd_model, by_hand(weights=np.array([8 / 6, 8 / 10])[labels])[1])


def test_class_weight_as_an_array(model, texts, labels):
    with pytest.raises(ValueError, match='must be a dict of weights by class, or "balanced"'):
        model.fit(texts, labels, class_weight=np.array([1.0, 3.0]), verbose=0)


@pytest.mark.slow
def test_class_weight_multiplies_sample_weight(sgd_model, texts, labels, by_hand, same_weights):
    options = {"class_weight": {1: 3.0}, "sample_weight": [1, 2, 1, 0, 1, 1, 1, 0.5]}
    sgd_model.fit(texts, labels, **options, **PLAIN)
    same_weights(sgd_model, by_hand(weights=[1, 6, 3, 0, 3, 3, 1, 1.5])[1])


@pytest.mark.slow
def test_class_weight_does_not_weight_the_validation(model, texts, labels, assert_close):
    model.compile(SGD(1e-9))
    expected, _ = model.evaluate(texts[4:], labels[4:], verbose=0)
    options = {"class_weight": {0: 10.0}, "validation_split": 0.5}
    history = model.fit(texts, labels, **options, **PLAIN).history
    assert_close(history["val_loss"][0], expected)


@pytest.mark.slow
def test_balanced_class_weight_counts_the_training_examples(
    sgd_model, texts, by_hand, same_weights
):
    labels = [0, 1, 1, 1, 0, 0, 0, 0]
    options = {"class_weight": "balanced", "validation_split": 0.5}
    sgd_model.fit(texts, labels, **options, **PLAIN)
    weights = np.array([4 / 2, 4 / 6])[labels]
    same_weights(sgd_model, by_hand(labels=labels, weights=weights, rows=range(4))[1])


@pytest.mark.slow
def test_sample_weight_list(sgd_model, texts, labels, by_hand, same_weights):
    weights = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
    sgd_model.fit(texts, labels, sample_weight=weights, **PLAIN)
    same_weights(sgd_model, by_hand(weights=weights)[1])


@pytest.mark.slow
def test_sample_weight_of_an_iterable(sgd_model, texts, labels, by_hand, same_weights):
    weights = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
    sgd_model.fit(iter(zip(texts, labels, strict=True)), sample_weight=weights, **PLAIN)
    same_weights(sgd_model, by_hand(weights=weights)[1])


@pytest.mark.slow
def test_sample_weights_in_a_column(sgd_model, texts, labels, by_hand, same_weights):
    weights = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
    sgd_model.fit(texts, labels, sample_weight=np.array(weights)[:, None], **PLAIN)
    same_weights(sgd_model, by_hand(weights=weights)[1])


@pytest.mark.slow
def test_weights_in_the_validation_data(model, texts, labels, assert_close):
    weights = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
    model.compile(SGD(1e-9))
    expected, _ = model.evaluate(texts, labels, sample_weight=weights, verbose=0)
    validation = (iter(zip(texts, labels, strict=True)), None, weights)
    history = model.fit(texts, labels, validation_data=validation, **PLAIN).history
    assert_close(history["val_loss"][0], expected)


@pytest.mark.slow
def test_sample_weights_of_the_estimator(preset, texts, labels, assert_close):
    weights, others = np.array([1.0, 0] * 4), np.array(labels)
    others[1::2] = 1 - others[1::2]  # those without a weight
    estimator = TextClassifier(preset, epochs=1, sequence_length=8, random_state=0)
    probabilities = estimator.fit(texts, labels, sample_weight=weights).predict_proba(texts)
    estimator.fit(texts, others, sample_weight=weights)
    assert_close(estimator.predict_proba(texts), probabilities)


def test_a_wrapper_of_a_partial_function_as_a_metric(model, texts, labels):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    entropy = functools.partial(keras.losses.sparse_categorical_crossentropy, from_logits=True)
    metric = keras.metrics.MeanMetricWrapper(entropy, name="entropy")
    model.compile(SGD(0.0), loss=loss, metrics=[metric])
    history = model.fit(texts, labels, **PLAIN).history
    assert history["entropy"] == pytest.approx(history["loss"], rel=1e-5)
