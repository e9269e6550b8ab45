"""The estimator: scikit-learn's own checks, and its use in scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from keras_bert import BertClassifier, BertClassifierPreprocessor
from keras_bert.estimators import TextClassifier

LETTERS = np.array([*"abcdefghijklmnopqrstuvwxy"])
SETTINGS = {"epochs": 1, "batch_size": 64, "sequence_length": 16, "random_state": 0}


@pytest.fixture(scope="module")
def preset(make_backbone, letters, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    reader = BertClassifierPreprocessor(letters, 16, label_names=["x", "y"])
    BertClassifier(make_backbone(num_layers=2), preprocessor=reader).save_to_preset(folder)
    return folder


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


EXPECTED = {}


@pytest.mark.slow
@parametrize_with_checks(
    [OfNumbers("encoder", **SETTINGS)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learns_checks_pass(estimator, check, preset, eager_compile):
    check(estimator.set_params(preset=preset))
