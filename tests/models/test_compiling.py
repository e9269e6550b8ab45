"""Losses and metrics of `compile`, for outputs that are logits."""

import keras
import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
    sizes,
)

IDS = np.random.default_rng(0).integers(5, 20, size=(12, 5)).astype("int32")
X = {"token_ids": IDS}
Y = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1])
Y3 = np.array([0, 1, 2] * 4)


@pytest.fixture(scope="module")
def backbone():
    keras.utils.set_random_seed(1)
    shape = {**sizes.tiny, "num_layers": 1, "hidden_dim": 16, "intermediate_dim": 16}
    return BertBackbone(vocabulary_size=20, dropout=0.0, **shape)


@pytest.fixture(scope="module")
def tasks(backbone):
    return {
        "classifier": BertClassifier(backbone, 2, dropout=0.0),
        "token classifier": BertTokenClassifier(backbone, 3, dropout=0.0),
        "span labeler": BertSpanLabeler(backbone),
        "multiple choice": BertMultipleChoice(backbone),
        "pre-trainer": BertPretrainer(backbone),
    }


@pytest.fixture(scope="module")
def classifiers(backbone):
    """Classifiers of two and three classes with large logits, and what they predict."""
    found = {}
    for classes in (2, 3):
        model = BertClassifier(backbone, classes, dropout=0.0)
        model.head.kernel.assign(300.0 * model.head.kernel)
        found[classes] = model, np.array(model(X))
    return found


def evaluated(model, y, **arguments):
    model.compile("sgd", run_eagerly=True, **arguments)
    return model.evaluate(X, y, verbose=0, return_dict=True)


def test_accuracies_with_and_without_weights_are_apart(assert_close, classifiers):
    model, logits = classifiers[2]
    is_right = logits.argmax(axis=-1) == Y
    weights = np.linspace(0.1, 2, len(Y))
    model.compile("sgd", metrics=["accuracy"], weighted_metrics=["accuracy"], run_eagerly=True)
    model.evaluate(X, Y, sample_weight=weights, verbose=0)
    results = [float(metric.result()) for metric in model.metrics[1].metrics]
    expected = [is_right.mean(), np.average(is_right, weights=weights)]
    assert_close(results, expected)


@pytest.mark.parametrize(
    "name", ["classifier", "token classifier", "span labeler", "multiple choice", "pre-trainer"]
)
def test_a_loss_by_name_is_the_tasks_own(tasks, name):
    model = tasks[name]
    own = model.default_compile_args()
    for loss in (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        keras.losses.sparse_categorical_crossentropy,
        "crossentropy",
    ):
        model.compile("sgd", loss, metrics=["accuracy"])
        config = model.get_compile_config()
        model.compile(**{**own, "optimizer": "sgd"})
        expected = model.get_compile_config()
        for part in ("loss", "loss_weights", "metrics", "weighted_metrics"):
            assert config[part] == expected[part], (name, loss, part)


@pytest.mark.parametrize(
    ("loss", "labels"),
    [
        ("sparse_categorical_crossentropy", Y3),
        ("categorical_crossentropy", np.eye(3)[Y3]),
        ("categorical_focal_crossentropy", np.eye(3)[Y3]),
        ("binary_crossentropy", np.eye(3)[Y3]),
        ("binary_focal_crossentropy", np.eye(3)[Y3]),
    ],
)
def test_a_loss_by_name_takes_logits(classifiers, loss, labels):
    model, logits = classifiers[3]
    found = evaluated(model, labels, loss=loss)["loss"]
    kind = getattr(keras.losses, "".join(map(str.capitalize, loss.split("_"))))
    expected = float(kind(from_logits=True)(labels, logits))
    probabilities = np.array(keras.ops.softmax(logits))
    if loss.startswith("binary"):
        probabilities = np.array(keras.ops.sigmoid(logits))
    assert found == pytest.approx(expected, rel=1e-5)
    assert found == pytest.approx(float(kind()(labels, probabilities)), rel=1e-2)


@pytest.mark.parametrize("kind", ["SparseCategoricalCrossentropy", "BinaryFocalCrossentropy"])
def test_a_loss_of_probabilities_is_refused(tasks, kind):
    with pytest.raises(ValueError, match=rf"{kind} takes probabilities.*Pass {kind}\(from_logits"):
        tasks["classifier"].compile("sgd", getattr(keras.losses, kind)())
    with pytest.raises(ValueError, match=f"{kind} takes probabilities"):
        tasks["pre-trainer"].compile("sgd", {"masked_lm": getattr(keras.losses, kind)()})


def test_a_regression_and_losses_of_ones_own_are_left_alone(backbone, tasks):
    model = BertClassifier(backbone, 1)
    model.compile("sgd", "mean_absolute_error", metrics=["mean_squared_error"])
    assert model.loss == "mean_absolute_error"

    def own_loss(y_true, y_pred):
        return keras.ops.mean(y_pred)

    tasks["classifier"].compile("sgd", own_loss)
    assert tasks["classifier"].loss is own_loss


def test_standard_metrics_are_those_of_probabilities(classifiers):
    model, logits = classifiers[2]
    found = evaluated(
        model,
        Y,
        metrics=[
            "accuracy",
            keras.metrics.AUC(num_thresholds=20_000, name="auc"),
            keras.metrics.AUC(from_logits=True, num_thresholds=20_000, name="same"),
            "precision",
            "recall",
            "binary_accuracy",
            keras.metrics.F1Score(average="macro", name="f1_score"),
            keras.metrics.TopKCategoricalAccuracy(k=1, name="top1"),
            keras.metrics.SparseTopKCategoricalAccuracy(k=2, name="top2"),
        ],
    )
    best = logits.argmax(axis=1)
    accuracy = (best == Y).mean()
    auc = sklearn_metrics.roc_auc_score(Y, logits[:, 1] - logits[:, 0])
    expected = {
        "accuracy": accuracy,
        "auc": auc,
        "same": auc,
        "precision": sklearn_metrics.precision_score(Y, best),
        "recall": sklearn_metrics.recall_score(Y, best),
        "binary_accuracy": accuracy,
        "f1_score": sklearn_metrics.f1_score(Y, best, average="macro"),
        "top1": accuracy,
        "top2": 1.0,
    }
    assert 0.2 < accuracy < 0.9  # else a wrong metric could agree
    found.pop("loss")
    assert found == pytest.approx(expected, abs=1e-3)


def test_metrics_of_several_classes(assert_close, classifiers):
    model, logits = classifiers[3]
    metrics = [
        keras.metrics.AUC(multi_label=True, num_labels=3, num_thresholds=20_000, name="auc"),
        keras.metrics.F1Score(average="weighted", name="f1_score"),
    ]
    probabilities, one_hot = np.array(keras.ops.softmax(logits)), np.eye(3)[Y3]
    auc = sklearn_metrics.roc_auc_score(one_hot, probabilities)
    f1 = sklearn_metrics.f1_score(Y3, logits.argmax(axis=1), average="weighted")
    for labels, loss in ((Y3, None), (one_hot, "categorical_crossentropy")):
        found = evaluated(model, labels, loss=loss, metrics=metrics)
        assert found["auc"] == pytest.approx(auc, abs=1e-3)
        assert_close(found["f1_score"], f1)


def test_metrics_of_labels_that_may_be_several(classifiers):
    model, logits = classifiers[3]
    labels = (np.arange(36).reshape(12, 3) % 5 < 2).astype("float32")
    metrics = ["accuracy", "precision", "binary_accuracy"]
    found = evaluated(model, labels, loss="binary_crossentropy", metrics=metrics)
    accuracy = ((logits > 0) == labels).mean()
    assert found["accuracy"] == found["binary_accuracy"] == pytest.approx(accuracy)
    precision = sklearn_metrics.precision_score(labels.ravel(), (logits > 0).ravel())
    assert found["precision"] == pytest.approx(precision)


def test_metrics_of_tokens_leave_out_what_has_no_weight(tasks):
    model = tasks["token classifier"]
    model.compile(
        "sgd",
        metrics=["accuracy", keras.metrics.F1Score("macro", name="f1_score")],
        run_eagerly=True,
    )
    labels, weights = IDS % 3, (IDS > 9).astype("float32")
    found = model.evaluate(X, labels, sample_weight=weights, verbose=0, return_dict=True)
    best, kept = np.array(model(X)).argmax(axis=-1), weights > 0
    assert found["accuracy"] == pytest.approx((best == labels)[kept].mean())
    f1 = sklearn_metrics.f1_score(labels[kept], best[kept], average="macro")
    assert found["f1_score"] == pytest.approx(f1)


def test_a_metric_of_probabilities_that_has_no_form_for_logits_is_refused(tasks):
    with pytest.raises(ValueError, match="metric SparseCategoricalCrossentropy takes prob"):
        tasks["classifier"].compile("sgd", metrics=[keras.metrics.SparseCategoricalCrossentropy()])


def test_losses_and_metrics_survive_saving(assert_close, classifiers, tmp_path):
    model, _ = classifiers[2]
    expected = evaluated(
        model, Y, loss="crossentropy", metrics=["acc", keras.metrics.AUC(name="auc")]
    )
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded.evaluate(X, Y, verbose=0, return_dict=True), expected)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a warning of TensorFlow")
def test_many_models_in_a_process_bring_no_warning_of_retracing(backbone, caplog):
    for _ in range(7):
        model = BertClassifier(backbone, 2)
        model.compile("sgd")
        model.fit(X, Y, verbose=0)
        model.predict(X, verbose=0)
    assert "retracing" not in caplog.text
