"""Losses and metrics of `compile`, for outputs that are logits."""

import re

import keras
import numpy as np
import pytest

from keras_bert import (
    BertClassifier,
    BertEmbedder,
    BertMultipleChoice,
    BertPretrainer,
    BertReranker,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    finetune,
)
from keras_bert.models import compiling
from tests.marks import on

IDS = np.random.default_rng(0).integers(5, 20, size=(12, 5)).astype("int32")
X = {"token_ids": IDS}
Y = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1])


@pytest.fixture(scope="module")
def backbone(make_backbone):
    return make_backbone(dropout=0.0)


@pytest.fixture(scope="module")
def tasks(backbone):
    return {
        "classifier": BertClassifier(backbone, 2, dropout=0.0),
        "token classifier": BertTokenClassifier(backbone, 3, dropout=0.0),
        "span labeler": BertSpanLabeler(backbone),
        "multiple choice": BertMultipleChoice(backbone),
        "pre-trainer": BertPretrainer(backbone),
    }


def logits_of(kind, name):
    return rf"Write keras\.{kind}\.{name}\(from_logits=True\)"


SPARSE, FOCAL = "SparseCategoricalCrossentropy", "BinaryFocalCrossentropy"
THRESHOLD = r"Write keras\.metrics\.BinaryAccuracy\(threshold=0\.0\)"
SCORES = r"call scores\(x, y\)"
METRICS = {
    "AUC": logits_of("metrics", "AUC"),
    "BinaryAccuracy": THRESHOLD,
    SPARSE: logits_of("metrics", SPARSE),
    "Precision": SCORES,
}


def test_a_loss_of_probabilities_is_refused_with_the_line_to_write(tasks, refused):
    classifier, pretrainer = tasks["classifier"].compile, tasks["pre-trainer"].compile
    for name in (SPARSE, FOCAL):
        line = logits_of("losses", name)
        function = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
        kind = getattr(keras.losses, name)
        for loss in (kind(), name, function, getattr(keras.losses, function)):
            refused(line, classifier, "sgd", loss)
        for loss in (function, {"masked_lm": function}):
            refused(line, pretrainer, "sgd", loss)
    for by_shape in ("crossentropy", "ce"):
        refused(f"'{by_shape}'.*{SPARSE}", classifier, "sgd", by_shape)
    one_hot = "It takes one-hot labels; with class names or numbers, leave it out"
    refused(one_hot, classifier, "sgd", "binary_crossentropy")
    refused(one_hot, classifier, "sgd", metrics=["auc"])


def test_a_metric_of_probabilities_is_refused_with_the_line_to_write(tasks, refused):
    classifier = tasks["classifier"].compile
    for name, line in METRICS.items():
        metric = getattr(keras.metrics, name)
        refused(line, classifier, "sgd", metrics=[name])
        refused(line, tasks["span labeler"].compile, "sgd", metrics={"start": [metric()]})
        refused(line, tasks["multiple choice"].compile, "sgd", metrics=metric())
    binary = keras.losses.BinaryCrossentropy(from_logits=True)
    refused(THRESHOLD, classifier, "sgd", binary, metrics=["accuracy"])
    refused(SCORES, classifier, "sgd", metrics=[keras.metrics.F1Score(threshold=0.5)])


def test_what_is_left_out_is_the_task_s_own():
    own = {"optimizer": "adam", "loss": "mse", "loss_weights": [2.0]}
    own |= {"metrics": ["mae"], "weighted_metrics": ["mse"]}
    none = dict.fromkeys(own)
    for given, others in (
        ({}, {}),
        ({"optimizer": "sgd", "loss_weights": [3.0]}, {}),
        ({"loss": "mae"}, {**none, "optimizer": "adam"}),
        ({"metrics": []}, {"weighted_metrics": None}),
        ({"weighted_metrics": []}, {"metrics": None}),
    ):
        assert compiling.arguments(own, **{**none, **given}) == own | others | given
    assert compiling.arguments({}, **none) == {**none, "optimizer": "rmsprop"}


def test_each_task_has_a_rate_of_its_own(backbone, tasks):
    others = BertClassifier(backbone, 1), BertReranker(backbone), BertEmbedder(backbone)
    optimizers = [task.default_compile_args()["optimizer"] for task in (*tasks.values(), *others)]
    rates = [float(optimizer.learning_rate) for optimizer in optimizers]
    assert rates == pytest.approx([5e-5, 5e-5, 3e-5, 2e-5, 1e-4, 5e-5, 2e-5, 2e-5])


def test_losses_and_metrics_of_logits_are_taken_as_they_are(backbone, tasks):
    model, absolute = BertClassifier(backbone, 1), keras.losses.mean_absolute_error
    model.compile("sgd", absolute, metrics=["mean_squared_error", "AUC"])
    assert model.loss is absolute

    def own_loss(y_true, y_pred, from_logits=False):
        return keras.ops.mean(y_pred)

    tasks["classifier"].compile("sgd", own_loss)
    assert tasks["classifier"].loss is own_loss
    accuracy = keras.metrics.BinaryAccuracy(threshold=1.5)
    metrics = [
        "accuracy",
        keras.metrics.AUC(from_logits=True),
        accuracy,
        keras.metrics.F1Score(),
    ]
    tasks["classifier"].compile("sgd", metrics=metrics)
    for kind in ("metrics", "weighted_metrics"):
        tasks["token classifier"].compile("sgd", **{kind: ["accuracy"]})


def test_a_model_with_nothing_to_train_is_refused(backbone, refused, tmp_path):
    model = BertClassifier(backbone, 2)
    model.trainable = False
    for call in (model.fit, model.train_on_batch):
        refused("BertClassifier has nothing to train", call, X, Y)
    refused("nothing to train", finetune, model, (["a"], [0]), (["a"], [0]), tmp_path / "run")
    model.trainable = True


def test_compiling_again_replaces_the_metrics(backbone):
    model = BertClassifier(backbone, 2)
    for metrics, names in ((["accuracy"], ["accuracy", "loss"]), (None, ["loss"])):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, metrics=metrics, run_eagerly=True)
        assert sorted(model.evaluate(X, Y, return_dict=True)) == names


@on("tensorflow")
def test_many_models_in_a_process_bring_no_warning_of_retracing(backbone, caplog):
    ids = keras.Input((5,), dtype="int32", name="token_ids")
    for _ in range(6):  # TensorFlow warns at the fifth
        vectors = keras.layers.Embedding(20, 2)(ids)  # less to trace than an encoder
        model = BertTask({"token_ids": ids}, keras.ops.mean(vectors, axis=1), backbone)
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.train_on_batch(X, Y)
        model.predict(X)
    assert "retracing" not in caplog.text
