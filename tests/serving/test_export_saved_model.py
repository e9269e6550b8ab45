"""Exporting: precision, what can't be exported, and what is left when it fails."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

import keras_bert

TEXTS = ["a b c", "中", "d e f a " * 9]


@pytest.fixture(scope="module")
def make(make_case, make_backbone, varied):
    return lambda: varied(make_case("classes", make_backbone()))


@pytest.fixture(scope="module")
def model(make):
    return make()


@pytest.mark.slow
def test_mixed_bfloat16_is_served_as_it_predicts(model, make, under, tmp_path):
    mixed = under("mixed_bfloat16", make)
    mixed.run_eagerly = False  # a graph rounds as the served one does
    mixed.export(tmp_path / "served")
    loaded = tf.saved_model.load(str(tmp_path / "served" / "1"))
    serve = loaded.signatures["serving_default"]
    rounding = 2.0**-8  # of a bfloat16
    predicted = softmax(mixed.predict(TEXTS), axis=1)
    answers = serve(text=tf.constant(TEXTS))
    assert answers["probabilities"].dtype == tf.float32
    assert np.ptp(predicted, axis=0).max() > 5 * rounding
    assert np.abs(answers["probabilities"] - predicted).max() < rounding
    # The same weights in float32: near, but not what is served.
    exact = softmax(model.predict(TEXTS), axis=1)
    assert 1e-5 < np.abs(answers["probabilities"] - exact).max() < 4 * rounding
    # No request casts weights: the token table and all kernels but the head's are bfloat16.
    exact = [tuple(weight.shape) for weight in loaded.weights if weight.dtype == "float32"]
    assert {shape for shape in exact if len(shape) > 1} == {tuple(mixed.head.kernel.shape)}
    assert max(len(weight.shape) for weight in loaded.weights) == 2
    x = mixed.preprocessor(TEXTS)
    logits = loaded.signatures["token_ids"](**x)["logits"]
    np.testing.assert_array_equal(logits, mixed.predict_on_batch(x))


def test_what_cannot_be_exported_says_why(model, monkeypatch, tmp_path, refused):
    (tmp_path / "there" / "1").mkdir(parents=True)
    backbone = model.backbone
    for task, folder, version, message in (
        (model, "there", 1, "already exists. Export with version=2"),
        (model, "served", 0, "version must be at least 1; got 0"),
        (
            keras_bert.BertClassifier(backbone, 3),
            "served",
            1,
            "Text needs a preprocessor.*BertC",
        ),
        (
            keras_bert.BertPretrainer(backbone),
            "served",
            1,
            "has no answers for a text.*save_to_p",
        ),
    ):
        refused(message, task.export, tmp_path / folder, version=version)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    refused("KERAS_BACKEND=tensorflow", model.export, tmp_path / "served")
    assert not (tmp_path / "served").exists()
