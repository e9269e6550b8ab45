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


def test_logits_are_divided_once_by_one_temperature(make, assert_close, tmp_path):
    for name in SETTINGS:
        model = make(name)
        model.run_eagerly = name != "two classes"  # which are read by a function traced before
        labels = mostly_right(model, "is_label" if name == "several labels" else "label")
        _, numbers = np.unique(labels, return_inverse=True)  # the names are sorted
        if name == "three classes":
            labels = np.eye(3, dtype=int)[numbers]
        before = model.predict(TEXTS)
        old = answers(model, "probabilities")
        found = model.calibrate(TEXTS, labels.astype(int) if labels.ndim == 2 else labels)
        assert found["num_predictions"] == numbers.size
        assert abs(found["temperature"] - 1) > 0.02
        after, new = model.predict(TEXTS), answers(model, "probabilities")
        assert_close(after, before / found["temperature"])
        for error, probabilities in (("error_before", old), ("error_after", new)):
            if name == "several labels":
                probabilities = np.stack([1 - probabilities, probabilities], -1).reshape(-1, 2)
            expected = expected_calibration_error(numbers.reshape(-1), probabilities)
            assert found[error] == pytest.approx(expected, abs=1e-5)
        assert model.calibrate(TEXTS, labels)["temperature"] == pytest.approx(1, abs=1e-3)
        assert_close(answers(saved(model, tmp_path / name), "probabilities"), new)


def test_labels_follow_the_threshold_that_is_best(make, tmp_path):
    for name, labels, key, score in (
        ("two classes", LABELS[:, 0], "label", "f1"),
        ("several labels", LABELS, "is_label", "micro_f1"),
    ):
        model = make(name)
        probabilities = answers(model, "probabilities")
        if key == "label":
            probabilities = probabilities[:, 1]
        threshold = model.choose_threshold(TEXTS, labels)
        is_label, limits = probabilities >= threshold, probabilities.reshape(-1)
        best = max(f1_score(labels.reshape(-1), limits >= limit) for limit in limits)
        assert f1_score(labels.reshape(-1), is_label.reshape(-1)) == best
        assert model.scores(TEXTS, labels)[score] == best
        expected = np.where(is_label, "yes", "no") if key == "label" else is_label
        changed = is_label != (probabilities >= 0.5)
        assert 0 < is_label.mean() < 1 and changed.any()
        assert answers(saved(model, tmp_path / name), key).tolist() == expected.tolist()
        if key == "label":  # an explanation is of the answer
            first = int(changed.argmax())
            assert model.explain(TEXTS[first])["target"] == expected[first]


def test_what_has_no_temperature_or_threshold_is_refused(make, letters, make_backbone, refused):
    score = BertClassifier(make_backbone(), 1, BertClassifierPreprocessor(letters, 8))
    model, labels = make("two classes"), LABELS[:, 0]
    for message, call, *y in (
        ("regression", score.calibrate, labels),
        ("num_classes=1", score.choose_threshold, labels),
        ("num_classes=3", make("three classes").choose_threshold, labels),
        ("their labels y", model.calibrate),
        ("40 rows but 3 labels", model.choose_threshold, [0, 1, 0]),
        ("All 40 examples have the same label", model.choose_threshold, [1] * 40),
        ("All 40 examples have the same label", model.calibrate, [1] * 40),
    ):
        refused(message, call, TEXTS, *y)
    for change in (lambda model: model.head.enable_lora(2), lambda model: model.quantize("int8")):
        change(model := make("two classes"))
        refused("quantized or has adapters", model.calibrate, TEXTS, labels)


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
