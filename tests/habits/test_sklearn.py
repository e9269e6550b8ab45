"""scikit-learn's tools around models and the estimator, as users write them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from keras_bert.estimators import TextClassifier

SETTINGS = {"epochs": 1, "batch_size": 4, "sequence_length": 8, "random_state": 0}


@pytest.fixture
def estimator(preset):
    return TextClassifier(preset, **SETTINGS)


def test_an_invalid_parameter_of_a_grid(estimator, texts, names, refused):
    search = GridSearchCV(estimator, {"lr": [1e-4]}, cv=2, error_score="raise")
    refused("(?s)Invalid parameter 'lr'.*'learning_rate'", search.fit, texts, names)


def test_labels_that_are_missing(estimator, texts, names, refused):
    series = pd.Series([*names[:7], None])
    for y in (series, series.to_frame(), [*names[:7], np.nan], [*names[:7], None]):
        refused("Label 7 is (nan|None): leave the example out", estimator.fit, texts, y)
