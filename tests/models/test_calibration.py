"""Temperatures and thresholds of classifiers: everything that reads the model has them."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from keras_bert import BertClassifier
from keras_bert.metrics import expected_calibration_error
from keras_bert.metrics.calibration import best_threshold

GENERATOR = np.random.default_rng(1)
TEXTS = [" ".join(GENERATOR.choice([*"abcdefgh"], size)) for size in GENERATOR.integers(1, 9, 40)]
LABELS = GENERATOR.integers(0, 2, (40, 3))
SETTINGS = {
    "two classes": {"label_names": ["no", "yes"]},
    "three classes": {"label_names": ["no", "so", "yes"], "window_stride": 3},
    "several labels": {"label_names": ["x", "y", "z"], "multi_label": True},
}


@pytest.fixture(scope="module")
def make(make_classifier, varied, untraced):
    """Makes a classifier that runs eagerly."""

    def make(name, **settings):
        return untraced(varied(make_classifier(sequence_length=8, **SETTINGS[name], **settings)))

    return make


def answers(model, name):
    return np.array([answer[name] for answer in model.answer(TEXTS)])


def calibration_error(model, numbers):
    probabilities = answers(model, "probabilities")
    if model.is_multi_label:
        probabilities = np.stack([1 - probabilities, probabilities], -1).reshape(-1, 2)
    return expected_calibration_error(numbers.reshape(-1), probabilities)


def mostly_right(model, key):
    """Labels of which a third are those of other texts."""
    labels = answers(model, key)
    labels[::3] = labels[::-3].copy()
    return labels


@pytest.mark.slow
def test_logits_are_divided_once_by_one_temperature(make, assert_close):
    for name in SETTINGS:
        model = make(name)
        model.run_eagerly = name != "two classes"  # which are read by a function traced before
        model.head.bias.assign(np.arange(model.num_classes) - 0.5)
        labels = mostly_right(model, "is_label" if name == "several labels" else "label")
        _, numbers = np.unique(labels, return_inverse=True)  # the names are sorted
        before, errors = model.predict(TEXTS), [calibration_error(model, numbers)]
        found = model.calibrate(TEXTS, labels)
        assert found["num_predictions"] == numbers.size
        assert abs(found["temperature"] - 1) > 0.02
        assert_close(model.predict(TEXTS), before / found["temperature"])
        errors.append(calibration_error(model, numbers))
        expected = [found["error_before"], found["error_after"]]
        assert errors == pytest.approx(expected, abs=1e-5)
        assert model.calibrate(TEXTS, labels)["temperature"] == pytest.approx(1, abs=1e-3)


def test_labels_follow_the_threshold_that_is_best(make, untraced, tmp_path):
    for name, labels, key, score in (
        ("two classes", LABELS[:, 0], "label", "f1"),
        ("several labels", LABELS, "is_label", "micro_f1"),
    ):
        model = make(name)
        probabilities = answers(model, "probabilities")
        if key == "label":
            probabilities = probabilities[:, 1]
        threshold = model.choose_threshold(TEXTS, labels)
        is_label, flat = probabilities >= threshold, labels.reshape(-1)
        best = best_threshold(flat, probabilities.reshape(-1))
        assert threshold == pytest.approx(best, rel=1e-5)
        assert model.scores(TEXTS, labels)[score] == f1_score(flat, is_label.reshape(-1))
        expected = np.where(is_label, "yes", "no") if key == "label" else is_label
        changed = is_label != (probabilities >= 0.5)
        assert 0 < is_label.mean() < 1 and changed.any()
        model.save_to_preset(tmp_path / name)
        copy = untraced(BertClassifier.from_preset(tmp_path / name))
        assert answers(copy, key).tolist() == expected.tolist()
        if key == "label":  # an explanation is of the answer
            first = int(changed.argmax())
            assert model.explain(TEXTS[first])["target"] == expected[first]


def test_each_label_may_have_its_threshold(make, untraced, tmp_path, refused):
    model = make("several labels")
    probabilities = answers(model, "probabilities")
    thresholds = model.choose_threshold(TEXTS, LABELS, per_label=True)
    columns = zip(LABELS.T, probabilities.T, strict=True)
    assert thresholds == pytest.approx([best_threshold(*column) for column in columns], rel=1e-5)
    is_label = probabilities >= np.array(thresholds)
    model.compile()
    _, accuracy = model.evaluate(TEXTS, LABELS)
    assert accuracy == pytest.approx((is_label == LABELS).mean())
    for save, name in ((model.save_to_preset, "preset"), (model.save_to_hugging_face, "theirs")):
        save(tmp_path / name)
        copy = untraced(BertClassifier.from_preset(tmp_path / name))
        assert answers(copy, "is_label").tolist() == is_label.tolist()
    refused("There are 3 label_names but 1 threshold", make, "several labels", threshold=[0.5])
    refused("threshold must be", make, "two classes", threshold=[0.5, 0.5])
    refused("per_label needs multi", make("two classes").choose_threshold, [], per_label=True)


def test_what_has_no_temperature_or_threshold_is_refused(make, make_classifier, refused):
    score = make_classifier(1)
    labels = LABELS[:, 0]
    for message, call, y in (
        ("regression", score.calibrate, labels),
        ("num_classes=3", make("three classes").choose_threshold, labels),
        ("All 40 examples have the same label", make("two classes").calibrate, [1] * 40),
    ):
        refused(message, call, TEXTS, y)
    refused("their labels y", make("two classes").calibrate, TEXTS)
    for change in (
        lambda model: model.head.enable_lora(2),
        lambda model: model.quantize("int8"),
    ):
        change(model := make("two classes"))
        refused("quantized or has adapters", model.calibrate, TEXTS, labels)
