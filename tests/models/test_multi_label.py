"""Classifiers of texts that have any number of labels."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from keras_bert import BertClassifier, BertClassifierPreprocessor
from keras_bert.metrics import multi_label_scores

NAMES = ["red", "green", "blue"]
LABELS = np.random.default_rng(1).integers(0, 2, (8, 3))


@pytest.fixture(scope="module")
def reader(letters):
    settings = {"label_names": NAMES, "multi_label": True, "threshold": 0.7}
    return BertClassifierPreprocessor(letters, sequence_length=12, **settings)


@pytest.fixture
def model(make_backbone, reader, randomized, eager):
    return eager(randomized(BertClassifier(make_backbone(), 3, reader)))


def test_loss_and_accuracy_are_those_of_each_label_for_itself(model, inputs):
    probabilities = 1 / (1 + np.exp(-model.predict(inputs, verbose=0).astype("float64")))
    found = model.evaluate(inputs, LABELS, verbose=0, return_dict=True)
    expected = [log_loss(LABELS[:, c], probabilities[:, c], labels=[0, 1]) for c in range(3)]
    np.testing.assert_allclose(found["loss"], np.mean(expected), rtol=1e-4)
    right = (probabilities >= 0.7) == LABELS
    assert 0 < right.mean() < 1
    np.testing.assert_allclose(found["accuracy"], right.mean(), rtol=1e-6)


def test_lists_of_names_are_learnt_as_zeros_and_ones(model, inputs, refused):
    lists = [[NAMES[c] for c in np.flatnonzero(row)] for row in LABELS]
    assert model.evaluate(inputs, lists, verbose=0) == model.evaluate(inputs, LABELS, verbose=0)
    texts = list("abcdefgh")
    model.fit(texts, lists, validation_split=0.25, verbose=0)
    found = np.stack([answer["is_label"] for answer in model.answer(texts)])
    assert model.scores(texts, lists) == multi_label_scores(LABELS, found)
    assert int(model.optimizer.iterations) == 1
    refused("'yellow'.*red, green, blue", model.fit, inputs, [["yellow"]] * 8)
    refused(r"\[n, 3\]; got shape \(8,\)", model.fit, inputs, LABELS[:, 0])


@pytest.mark.parametrize("to", ["preset", "hugging_face"])
def test_presets_keep_it(model, reader, inputs, untraced, assert_close, tmp_path, to):
    getattr(model, f"save_to_{to}")(tmp_path)
    loaded = untraced(BertClassifier.from_preset(tmp_path))
    assert loaded.preprocessor.get_config() == reader.get_config()
    assert_close(model.predict(inputs, verbose=0), loaded.predict(inputs, verbose=0))


def test_a_single_label_is_a_sigmoid_too(make_backbone, reader, eager, inputs):
    one = type(reader).like(reader, label_names=["red"])
    model = eager(BertClassifier(make_backbone(), 1, one))
    assert model.evaluate(inputs, LABELS[:, :1], verbose=0)[0] == pytest.approx(np.log(2), abs=0.05)
    assert set(model.answer(inputs)[0]) == {"probabilities", "is_label", "labels"}
