"""Classifiers of texts that have any number of labels."""

import keras
import numpy as np
import pytest
from sklearn.metrics import log_loss

from keras_bert import BertClassifier, save_to_google

NAMES = ["red", "green", "blue"]
LABELS = np.random.default_rng(1).integers(0, 2, (8, 3))


@pytest.fixture
def model(make_backbone, randomized):
    backbone = make_backbone(num_layers=1)
    return randomized(
        BertClassifier(backbone, 3, label_names=NAMES, multi_label=True, threshold=0.7)
    )


def test_loss_and_accuracy_are_those_of_each_label_for_itself(model, inputs):
    logits = model.predict(inputs, verbose=0).astype("float64")
    probabilities = 1 / (1 + np.exp(-logits))
    found = model.evaluate(inputs, LABELS, verbose=0, return_dict=True)
    expected = [log_loss(LABELS[:, c], probabilities[:, c], labels=[0, 1]) for c in range(3)]
    np.testing.assert_allclose(found["loss"], np.mean(expected), rtol=1e-4)
    right = (probabilities >= 0.7) == LABELS
    assert 0 < right.mean() < 1
    np.testing.assert_allclose(found["accuracy"], right.mean(), rtol=1e-6)


def test_lists_of_names_are_learnt_as_zeros_and_ones(model, inputs):
    lists = [[NAMES[c] for c in np.flatnonzero(row)] for row in LABELS]
    expected = model.evaluate(inputs, LABELS, verbose=0)
    assert model.evaluate(inputs, lists, verbose=0) == expected
    model.fit(inputs, lists, validation_data=(inputs, lists), verbose=0)
    assert int(model.optimizer.iterations) == 1
    with pytest.raises(ValueError, match="'yellow'.*red, green, blue"):
        model.fit(inputs, [["yellow"]] * 8)
    with pytest.raises(ValueError, match=r"\[n, 3\]; got shape \(8,\)"):
        model.fit(inputs, LABELS[:, 0])


def test_answers_are_sigmoids_and_what_reaches_the_threshold(model, inputs):
    logits = model.predict(inputs, verbose=0)
    answers = {k: keras.ops.convert_to_numpy(v) for k, v in model.answers(logits).items()}
    np.testing.assert_allclose(answers["probabilities"], 1 / (1 + np.exp(-logits)), rtol=1e-5)
    assert (answers["is_label"] == (answers["probabilities"] >= 0.7)).all()


@pytest.mark.parametrize("save", [BertClassifier.save_to_preset, save_to_google])
def test_presets_keep_it(model, inputs, difference, tmp_path, save):
    if save is save_to_google:
        pytest.importorskip("tensorflow")
    save(model, tmp_path)
    loaded = BertClassifier.from_preset(tmp_path)
    assert (loaded.multi_label, loaded.threshold, loaded.label_names) == (True, 0.7, NAMES)
    assert difference(model.predict(inputs, verbose=0), loaded.predict(inputs, verbose=0)) < 1e-6


def test_a_single_label_is_a_sigmoid_too(make_backbone, inputs):
    model = BertClassifier(make_backbone(num_layers=1), 1, multi_label=True)
    assert model.evaluate(inputs, LABELS[:, :1], verbose=0)[0] == pytest.approx(np.log(2), abs=0.05)
    assert set(model.answers(np.zeros((2, 1), "float32"))) == {"probabilities", "is_label"}
