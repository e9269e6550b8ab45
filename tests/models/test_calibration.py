"""Temperatures and thresholds of classifiers: everything that reads the model has them."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from keras_bert import BertClassifier, BertClassifierPreprocessor
from keras_bert.metrics import expected_calibration_error

GENERATOR = np.random.default_rng(1)
TEXTS = [" ".join(GENERATOR.choice([*"abcdefgh"], size)) for size in GENERATOR.integers(1, 9, 40)]
LABELS = GENERATOR.integers(0, 2, (40, 3))
SETTINGS = {
    "two classes": {"label_names": ["no", "yes"]},
    "three classes": {"label_names": ["no", "so", "yes"], "window_stride": 3},
    "several labels": {"label_names": ["x", "y", "z"], "multi_label": True},
}


@pytest.fixture(scope="module")
def make(make_backbone, letters, varied, untraced):
    """Makes a classifier that runs eagerly."""

    def make(name):
        reader = BertClassifierPreprocessor(letters, 8, **SETTINGS[name])
        return untraced(varied(BertClassifier(make_backbone(), preprocessor=reader)))

    return make


def answers(model, name):
    return np.array([answer[name] for answer in model.answer(TEXTS)])


def saved(model, folder):
    model.save_to_preset(folder)
    copy = BertClassifier.from_preset(folder, sequence_length=8)
    copy.run_eagerly = True
    return copy


def mostly_right(model, key):
    """Labels of which a third are those of other texts."""
    labels = answers(model, key)
    return np.where(np.arange(40).reshape(40, *[1] * (labels.ndim - 1)) % 3, labels, labels[::-1])


@pytest.mark.parametrize("name", SETTINGS)
def test_logits_are_divided_once_by_one_temperature(make, name, assert_close, tmp_path):
    model = make(name)
    model.run_eagerly = name != "two classes"  # which are read by a function traced before
    labels = mostly_right(model, "is_label" if name == "several labels" else "label")
    labels = labels.astype(int) if labels.ndim == 2 else labels
    before = model.predict(TEXTS, verbose=0)
    old = answers(model, "probabilities")
    found = model.calibrate(TEXTS, labels)
    assert found["num_predictions"] == labels.size and abs(found["temperature"] - 1) > 0.02
    after, new = model.predict(TEXTS, verbose=0), answers(model, "probabilities")
    assert_close(after, before / found["temperature"])
    for error, probabilities in (("error_before", old), ("error_after", new)):
        if labels.ndim == 2:
            probabilities = np.stack([1 - probabilities, probabilities], -1).reshape(-1, 2)
        numbers = np.searchsorted(np.unique(labels), labels.reshape(-1))  # the names are sorted
        expected = expected_calibration_error(numbers, probabilities)
        assert found[error] == pytest.approx(expected, abs=1e-5)
    assert model.calibrate(TEXTS, labels)["temperature"] == pytest.approx(1, abs=1e-3)
    assert_close(answers(saved(model, tmp_path), "probabilities"), new)


@pytest.mark.parametrize("name", ["two classes", "several labels"])
def test_labels_follow_the_threshold_that_is_best(make, name, tmp_path):
    model = make(name)
    labels, key = (LABELS[:, 0], "label") if name == "two classes" else (LABELS, "is_label")
    probabilities = answers(model, "probabilities")
    threshold = model.choose_threshold(TEXTS, labels)
    if name == "two classes":
        probabilities = probabilities[:, 1]
    limits = probabilities.reshape(-1)
    scores = [f1_score(labels.reshape(-1), limits >= limit) for limit in limits]
    is_label = probabilities >= threshold
    assert f1_score(labels.reshape(-1), is_label.reshape(-1)) == max(scores)
    assert model.scores(TEXTS, labels)["f1" if key == "label" else "micro_f1"] == max(scores)
    expected = np.where(is_label, "yes", "no") if key == "label" else is_label
    assert 0 < is_label.mean() < 1 and (is_label != (probabilities >= 0.5)).any()
    assert answers(saved(model, tmp_path), key).tolist() == expected.tolist()
    if key == "label":  # an explanation is of the answer
        changed = int(np.flatnonzero(is_label != (probabilities >= 0.5))[0])
        assert model.explain(TEXTS[changed])["target"] == expected[changed]


def test_one_hot_labels_are_classes(make):
    model = make("two classes")
    names = mostly_right(model, "label")
    start = model.get_weights()
    by_name = model.calibrate(TEXTS, names)
    model.set_weights(start)
    assert model.calibrate(TEXTS, np.eye(2, dtype=int)[(names == "yes").astype(int)]) == by_name


def test_what_has_no_temperature_or_threshold_is_refused(make, letters, make_backbone, refused):
    score = BertClassifier(make_backbone(), 1, BertClassifierPreprocessor(letters, 8))
    refused("regression", score.calibrate, TEXTS, LABELS[:, 0])
    refused("num_classes=1", score.choose_threshold, TEXTS, LABELS[:, 0])
    refused("num_classes=3", make("three classes").choose_threshold, TEXTS, LABELS[:, 0])
    model = make("two classes")
    refused("their labels y", model.calibrate, TEXTS)
    refused("40 rows but 3 labels", model.choose_threshold, TEXTS, [0, 1, 0])
    for tune in (model.calibrate, model.choose_threshold):
        refused("All 40 examples have the same label", tune, TEXTS, [1] * 40)
    for change in (lambda model: model.head.enable_lora(2), lambda model: model.quantize("int8")):
        change(model := make("two classes"))
        refused("quantized or has adapters", model.calibrate, TEXTS, LABELS[:, 0])


def test_adapters_of_the_encoder_stay(make, assert_close, tmp_path):
    model = make("two classes")
    model.save_to_hugging_face(tmp_path / "base")
    model.enable_lora(2)
    model.calibrate(TEXTS, mostly_right(model, "label"))
    model.save_lora(tmp_path / "lora", str(tmp_path / "base"))
    expected = answers(model, "probabilities")
    model.merge_lora()
    other = BertClassifier.from_preset(tmp_path / "lora")
    for each in (model, other):
        assert_close(answers(each, "probabilities"), expected)


@pytest.mark.slow
def test_the_served_model_has_both(make, tensorflow, assert_close, tmp_path):
    model = make("two classes")
    model.calibrate(TEXTS, mostly_right(model, "label"))
    model.choose_threshold(TEXTS, LABELS[:, 0])
    served = tensorflow.saved_model.load(str(model.export(tmp_path))).signatures["serving_default"]
    found = served(text=tensorflow.constant(TEXTS))
    assert_close(found["probabilities"].numpy(), answers(model, "probabilities"))
    assert [label.decode() for label in found["label"].numpy()] == list(answers(model, "label"))
