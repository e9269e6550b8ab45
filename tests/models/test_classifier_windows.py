"""Classifiers that read long texts in windows."""

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertClassifier, BertClassifierPreprocessor

TEXTS = [
    "a b c",
    "d",
    "",
    " ".join("abcdefghijklmnopqrstuvwxy"),
    "c b a " * 5,
    "a b c d e f g h i j",
]
LABELS = np.array([0, 1, 2, 0, 1, 2])
FEATURES = np.arange(6.0)[:, None]
ROOM = 10  # tokens of a window; sequences have 12


@pytest.fixture(scope="module")
def model(make_backbone, letters, varied, eager):
    """A classifier with weights far from the start; each test sets how it reads windows."""
    keras.utils.set_random_seed(1)
    reader = BertClassifierPreprocessor(letters, sequence_length=ROOM + 2)
    encoder = make_backbone(dropout=0.0)
    model = varied(BertClassifier(encoder, 3, reader, dropout=0.0, num_features=1))
    model.adapt_features(FEATURES)
    return eager(model)


def read_windows(model, stride):
    """Sets how the model reads texts."""
    kind = type(model.preprocessor)
    model.preprocessor = kind.like(model.preprocessor, window_stride=stride)


def with_number(texts):
    """Texts with the same number alongside each."""
    return {"text": texts, "features": np.full((len(texts), 1), 2.0)}


def windows_of(text, stride):
    """The windows of a text, as texts."""
    tokens = text.split()
    count = 1 + max(-(-(len(tokens) - ROOM) // stride), 0)
    return [" ".join(tokens[i * stride : i * stride + ROOM]) for i in range(count)]


def logits_of(model, windows):
    """Logits of windows, read as texts."""
    read_windows(model, None)
    return model.predict(with_number(sum(windows, [])), batch_size=64)


def losses_of(logits, labels):
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(logits)), labels]


def test_logits_are_those_of_the_windows_pooled(assert_close, model, difference):
    for stride in (1, 10):
        windows = [windows_of(text, stride) for text in TEXTS]
        ends = np.cumsum([len(part) for part in windows])[:-1]
        parts = np.split(logits_of(model, windows), ends)
        cut = model.predict(with_number(TEXTS), batch_size=64)
        read_windows(model, stride)
        found = model.predict(with_number(TEXTS), batch_size=64)
        assert_close(found, np.stack([part.mean(axis=0) for part in parts]))
        assert difference(found, cut) > 1e-2


def test_evaluate_scores_whole_texts(model, tf, refused):
    read_windows(model, 4)
    x = with_number(TEXTS)
    logits = model.predict(x).astype("float64")
    losses = losses_of(logits, LABELS)
    found = model.evaluate(x, LABELS.astype(str), return_dict=True)
    assert found["loss"] == pytest.approx(losses.mean(), rel=1e-4)
    assert found["accuracy"] == pytest.approx((logits.argmax(axis=1) == LABELS).mean())
    data = tf.data.Dataset.from_tensor_slices((x, LABELS, np.arange(6.0)))
    loss, _ = model.evaluate(data)
    assert loss == pytest.approx((losses * np.arange(6)).mean(), rel=1e-4)
    few, expected = {"batch_size": 2, "steps": 2}, losses[:4].mean()
    endless = tf.data.Dataset.from_tensor_slices((x, LABELS)).repeat()
    for given in ((x, LABELS), (endless,)):
        assert model.evaluate(*given, **few)[0] == pytest.approx(expected, rel=1e-4)
    assert len(model.predict(endless, **few)) == len(model.predict(x, **few)) == 4
    refused("There are no labels", model.evaluate, x)


class MeanOfRows(keras.losses.Loss):
    """Gets the whole batch, whatever its parts, as a loss that compares texts does."""

    over_batch = True

    def call(self, y_true, y_pred):
        return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)


@pytest.mark.parametrize("weights", [None, [1.0, 2, 3, 4, 5, 6]])
def test_a_text_counts_once_however_many_windows_it_has(model, weights, tf):
    windows = [windows_of(text, 4) for text in TEXTS]
    counts = [len(part) for part in windows]
    rows, shares = np.repeat(LABELS, counts), np.repeat(np.divide(1, counts), counts)
    shares_of_rows = shares * np.repeat(weights or np.ones(6), counts)
    logits = logits_of(model, windows)
    expected = (losses_of(logits, rows) * shares_of_rows).sum() / 6
    is_right = logits.argmax(axis=1) == rows
    read_windows(model, 4)
    data = with_number(TEXTS), LABELS
    if weights:
        data = *data, np.array(weights)  # float64
    for given in (data, (tf.data.Dataset.from_tensor_slices(data),)):
        [(inputs, labels, *found)] = model.batches(*given, batching=Batching(64, shuffle=False))
        np.testing.assert_allclose(inputs["window_share"], shares, rtol=1e-6)
        np.testing.assert_array_equal(found, [np.repeat(part, counts) for part in data[2:]])
        np.testing.assert_array_equal(labels, rows)
    for loss, parts in ((None, 1), (MeanOfRows(), 1), (MeanOfRows(), 2)):
        weighted = keras.metrics.SparseCategoricalAccuracy(name="weighted")
        metrics = {"metrics": ["accuracy"], "weighted_metrics": [weighted]}
        model.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=True, **metrics)
        options = {"sample_weight": weights, "accumulation_steps": parts}
        logs = model.fit(with_number(TEXTS), LABELS, 64, **options).history
        assert logs["loss"][0] == pytest.approx(expected, rel=1e-4)
        for name, each in (("accuracy", shares), ("weighted", shares_of_rows)):
            assert logs[name][0] == pytest.approx(np.average(is_right, weights=each), rel=1e-5)
