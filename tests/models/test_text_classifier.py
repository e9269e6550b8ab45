"""The estimator: scikit-learn's own checks, and its use in scikit-learn's tools."""

import pickle
import random
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from keras_bert.estimators import TextClassifier

LETTERS = np.array([*"abcdefghijklmnopqrstuvwxy"])
TEXTS, LABELS = ["a b", "c d"] * 8, ["no", "yes"] * 8
SETTINGS = {"epochs": 1, "batch_size": 64, "sequence_length": 16, "random_state": 0}


@pytest.fixture(scope="module")
def preset(make_classifier, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    make_classifier(label_names=["x", "y"], sequence_length=16).save_to_preset(folder)
    return folder


@pytest.fixture
def make(preset, eager_compile):
    return lambda **settings: TextClassifier(preset, **{**SETTINGS, **settings})


class OfNumbers(TextClassifier):
    """Reads rows of numbers as texts: scikit-learn's checks have no texts."""

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y)
        return super().fit(self._texts(X), y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(self._texts(validate_data(self, X, reset=False)))

    def _texts(self, X):
        return [" ".join(LETTERS[np.round(4 * row).astype(int) % 25]) for row in X]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = False, True
        tags.classifier_tags.poor_score = True
        return tags


EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": "repeated texts are in other batches",
    "check_all_zero_sample_weights_error": "weights of 0 train nothing, as in Keras",
    "check_sample_weights_not_an_array": "weights are a list, an array or a column",
}


@pytest.mark.weekly
@parametrize_with_checks(
    [OfNumbers("encoder", **SETTINGS)], expected_failed_checks=lambda _: EXPECTED_TO_FAIL
)
def test_scikit_learns_checks_pass(estimator, check, preset, eager_compile):
    check(estimator.set_params(preset=preset))


@pytest.mark.slow
def test_equal_fits_are_equal_and_leave_nothing_behind(make):
    estimator = make().fit(TEXTS, LABELS)
    expected, old = estimator.predict_proba(TEXTS), weakref.ref(estimator.model_)
    generators = pickle.dumps((random.getstate(), np.random.get_state()))
    np.testing.assert_array_equal(estimator.fit(TEXTS, LABELS).predict_proba(TEXTS), expected)
    assert old() is None
    assert pickle.dumps((random.getstate(), np.random.get_state())) == generators
    others = [make(random_state=seed).fit(TEXTS, LABELS) for seed in (2, None, None)]
    found = [expected, *(other.predict_proba(TEXTS) for other in others)]
    assert len({array.tobytes() for array in found}) == 4


@pytest.mark.slow
def test_pickles_answer_alike_and_train_on(make, assert_close):
    estimator = make(epochs=2).fit(TEXTS, LABELS)
    copy = pickle.loads(pickle.dumps(estimator))
    expected = estimator.predict_proba(TEXTS)
    assert_close(copy.predict_proba(TEXTS), expected)
    assert_close(copy.fit(TEXTS, LABELS).predict_proba(TEXTS), expected)
    assert not copy.model_.compiled  # so that no optimizer is pickled


def test_labels_of_any_kind_come_back_sorted(make):
    for classes in (["yes", "no"], [3, -7], [0.0, 2.0, 5.0]):
        labels = np.resize(classes, 16)
        pairs = [(text, "a") for text in TEXTS]
        estimator = make().fit(pairs, labels, sample_weight=np.arange(16))
        assert estimator.classes_.tolist() == sorted(classes)
        assert estimator.classes_.dtype == labels.dtype == estimator.predict(TEXTS).dtype
        expected = estimator.classes_[estimator.predict_proba(TEXTS).argmax(axis=1)]
        assert estimator.predict(TEXTS).tolist() == expected.tolist()


def test_the_rate_warms_up_in_the_first_tenth_of_the_steps(make, monkeypatch):
    rates = []
    monkeypatch.setattr("keras_bert.estimators.AdamW", lambda rate: rates.append(rate) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make(epochs=5, batch_size=5).fit(TEXTS, LABELS)
    assert [float(rates[0](step)) for step in (0, 2, 20)] == pytest.approx([2.5e-5, 5e-5, 0])


def test_one_class_and_missing_labels_are_refused(make, refused):
    refused("got 1 class, no", make().fit, TEXTS, ["no"] * 16)
    series = pd.Series([*LABELS[:6], None])
    for y in (series, series.to_frame(), [*LABELS[:6], np.nan]):
        refused("Label 6 is (nan|None): leave the example out", make().fit, TEXTS[:7], y)
