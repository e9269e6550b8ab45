"""The estimator for scikit-learn, as users write programs with it."""

import numpy as np
import pandas as pd

from keras_bert.estimators import TextClassifier
from tests.habits.conftest import TEXTS


def test_labels_that_are_missing(preset, refused):
    names = ["no", "yes"] * 3
    series = pd.Series([*names, None])
    for y in (series, series.to_frame(), [*names, np.nan]):
        fit = TextClassifier(preset).fit
        refused("Label 6 is (nan|None): leave the example out", fit, TEXTS[:7], y)
