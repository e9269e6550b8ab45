"""Classifiers that read long texts in windows."""

import keras
import numpy as np
import pytest

from tests.models.test_every_task import of_one_class

TEXTS = [
    "a b c",
    "d",
    "",
    " ".join("abcdefghijklmnopqrstuvwxy"),
    "c b a " * 5,
    "a b c d e f g h i j",
]
LABELS = np.array([0, 1, 2, 0, 1, 2])
X = {"text": TEXTS, "features": np.full((6, 1), 2.0)}


@pytest.fixture(scope="module")
def model(make_classifier, varied, eager):
    """A classifier with weights far from the start; each test sets how it reads windows."""
    model = varied(make_classifier(3, dropout=0.0, num_features=1))
    model.adapt_features(np.arange(6.0)[:, None])
    return eager(model)


def windows_of(model, stride):
    """Has a model read windows; returns the logits of each, and the number of each text's."""
    reader = model.preprocessor
    model.preprocessor = reader.like(reader, window_stride=stride)
    rows = model.preprocessor.read(X)
    [inputs] = rows.as_batch()
    return model.predict_on_batch(inputs), rows.counts


def test_logits_are_those_of_the_windows_pooled(assert_close, model, difference):
    for stride in (1, 10):
        logits, counts = windows_of(model, stride)
        parts = np.split(logits, np.cumsum(counts)[:-1])
        found = model.predict(X, batch_size=64)
        assert_close(found, np.stack([part.mean(axis=0) for part in parts]))
        assert difference(found, np.stack([part[0] for part in parts])) > 1e-2


def test_metrics_of_texts_may_be_arrays(make_classifier, eager):
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model = eager(make_classifier(3), loss=loss, metrics=[keras.metrics.F1Score()])
    model.preprocessor = model.preprocessor.like(model.preprocessor, window_stride=4)
    assert model.evaluate(TEXTS, np.eye(3)[LABELS], return_dict=True)["f1_score"].shape == (3,)


def test_evaluate_scores_whole_texts(model, tf):
    windows_of(model, 4)
    logits = model.predict(X).astype("float64")
    losses, right = of_one_class(logits, LABELS)
    found = model.evaluate(X, LABELS.astype(str), return_dict=True)
    assert found["loss"] == pytest.approx(losses.mean(), rel=1e-4)
    assert found["accuracy"] == pytest.approx(right.mean())
    data = tf.data.Dataset.from_tensor_slices((X, LABELS, np.arange(6.0)))
    loss, _ = model.evaluate(data)
    assert loss == pytest.approx((losses * np.arange(6)).mean(), rel=1e-4)
    few, expected = {"batch_size": 2, "steps": 2}, losses[:4].mean()
    endless = tf.data.Dataset.from_tensor_slices((X, LABELS)).repeat()
    for given in ((X, LABELS), (endless,)):
        assert model.evaluate(*given, **few)[0] == pytest.approx(expected, rel=1e-4)
    assert len(model.predict(endless, **few)) == len(model.predict(X, **few)) == 4


class MeanOfRows(keras.losses.Loss):
    """Gets the whole batch, whatever its parts, as a loss that compares texts does."""

    over_batch = True

    def call(self, y_true, y_pred):
        return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)


@pytest.mark.parametrize("weights", [None, [1.0, 2, 3, 4, 5, 6]])
def test_a_text_counts_once_however_many_windows_it_has(model, weights):
    logits, counts = windows_of(model, 4)
    rows, shares = np.repeat(LABELS, counts), np.repeat(1 / counts, counts)
    shares_of_rows = shares * np.repeat(weights or np.ones(6), counts)
    losses, is_right = of_one_class(logits, rows)
    expected = (losses * shares_of_rows).sum() / 6
    for loss, parts in ((None, 1), (MeanOfRows(), 1), (MeanOfRows(), 2)):
        weighted = keras.metrics.SparseCategoricalAccuracy(name="weighted")
        metrics = {"metrics": ["accuracy"], "weighted_metrics": [weighted]}
        model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=True, **metrics)
        options = {"sample_weight": weights, "accumulation_steps": parts}
        logs = model.fit(X, LABELS, 64, **options).history
        assert logs["loss"][0] == pytest.approx(expected, rel=1e-4)
        for name, each in (("accuracy", shares), ("weighted", shares_of_rows)):
            assert logs[name][0] == pytest.approx(np.average(is_right, weights=each), rel=1e-5)
