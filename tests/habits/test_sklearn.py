"""scikit-learn's tools around models and the estimator, as users write them."""

import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from keras_bert import BertEmbedder, BertEmbedderPreprocessor
from keras_bert.estimators import TextClassifier
from tests.habits.conftest import LABELS, NAMES, TEXTS

SETTINGS = {"epochs": 1, "batch_size": 4, "sequence_length": 8, "random_state": 0}


@pytest.fixture
def estimator(preset):
    return TextClassifier(preset, **SETTINGS)


@pytest.fixture(scope="module")
def fitted(preset):
    return TextClassifier(preset, **SETTINGS).fit(TEXTS, [NAMES[label] for label in LABELS])


def test_fit_and_predict(fitted, texts, assert_close):
    assert fitted.classes_.tolist() == NAMES
    probabilities = fitted.predict_proba(texts)
    expected = keras.ops.softmax(fitted.model_.predict(texts, verbose=0))
    assert_close(probabilities, expected)
    assert fitted.predict(texts).tolist() == [NAMES[n] for n in probabilities.argmax(axis=1)]


def test_an_invalid_parameter_of_a_grid(estimator, texts, names):
    search = GridSearchCV(estimator, {"lr": [1e-4]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="(?s)Invalid parameter 'lr'.*'learning_rate'"):
        search.fit(texts, names)


def test_labels_that_are_missing(estimator, texts, names):
    series = pd.Series([*names[:7], None])
    for y in (series, series.to_frame(), [*names[:7], np.nan], [*names[:7], None]):
        with pytest.raises(ValueError, match="Label 7 is (nan|None): leave the example out"):
            estimator.fit(texts, y)


# Around Keras models


@pytest.fixture(scope="module")
def embedder(make_encoder, tokenizer):
    return BertEmbedder(make_encoder(), preprocessor=BertEmbedderPreprocessor(tokenizer, 8))


def test_an_embedder_in_a_pipeline(embedder, texts, labels):
    pipeline = make_pipeline(
        FunctionTransformer(embedder.encode_document), LogisticRegression(C=100.0)
    )
    df = pd.DataFrame({"text": texts, "label": labels})
    pipeline.fit(df["text"], df["label"])
    vectors = embedder.encode_document(texts)
    expected = LogisticRegression(C=100.0).fit(vectors, labels).predict_proba(vectors)
    np.testing.assert_allclose(pipeline.predict_proba(df["text"]), expected, rtol=1e-5)
