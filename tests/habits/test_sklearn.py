"""scikit-learn's tools around models and the estimator, as users write them."""

import pickle

import joblib
import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, f1_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder

from keras_bert import BertClassifier, BertEmbedder, BertEmbedderPreprocessor
from keras_bert.estimators import TextClassifier
from tests.habits.conftest import LABELS, NAMES, PLAIN, TEXTS

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


def test_score(fitted, texts, names):
    assert fitted.score(texts, names) == accuracy_score(names, fitted.predict(texts))


def test_the_answers_of_the_estimator(fitted, texts):
    answers = fitted.model_.answer(texts)
    assert [answer["label"] for answer in answers] == fitted.predict(texts).tolist()


def test_predict_before_fit(estimator, texts):
    with pytest.raises(NotFittedError, match="Call 'fit' with appropriate arguments"):
        estimator.predict(texts)


def test_get_params_and_set_params(estimator, preset):
    assert estimator.get_params() == {"preset": preset, "learning_rate": 5e-5, **SETTINGS}
    estimator.set_params(epochs=2, learning_rate=1e-4)
    assert estimator.epochs == 2 and estimator.get_params()["learning_rate"] == 1e-4
    with pytest.raises(ValueError, match="(?s)Invalid parameter 'epoch'.*'epochs'"):
        estimator.set_params(epoch=2)


def test_clone(fitted, texts):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "model_")


def test_a_series_and_a_table_of_one_column(fitted, texts, assert_close):
    expected = fitted.predict_proba(texts)
    df = pd.DataFrame({"text": texts})
    assert_close(fitted.predict_proba(df["text"]), expected)
    assert_close(fitted.predict_proba(df[["text"]]), expected)
    assert_close(fitted.predict_proba(np.array(texts)), expected)


@pytest.mark.parametrize("dump", [pickle.dumps, joblib.dump], ids=["pickle", "joblib"])
def test_saving_the_estimator(dump, fitted, texts, tmp_path, assert_close):
    if dump is pickle.dumps:
        copy = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "model.joblib")
        copy = joblib.load(tmp_path / "model.joblib")
    assert_close(copy.predict_proba(texts), fitted.predict_proba(texts))
    assert copy.predict(texts).tolist() == fitted.predict(texts).tolist()


def test_joblib_of_the_model(compiled, texts, tmp_path, assert_close):
    joblib.dump(compiled, tmp_path / "model.joblib")
    copy = joblib.load(tmp_path / "model.joblib")
    assert_close(copy.predict(texts, verbose=0), compiled.predict(texts, verbose=0))


def accuracies(preset, splits, x, y):
    """The accuracy of each fold, by a loop around the estimator."""
    x, y = np.array(x), np.array(y)
    found = []
    for train, test in splits:
        estimator = TextClassifier(preset, **SETTINGS).fit(x[train].tolist(), y[train].tolist())
        found.append(np.mean(estimator.predict(x[test].tolist()) == y[test]))
    return found


@pytest.mark.weekly
@pytest.mark.slow
def test_cross_val_score(estimator, preset, texts, names):
    scores = cross_val_score(estimator, texts, names, cv=2)
    assert scores.tolist() == accuracies(
        preset, StratifiedKFold(2).split(texts, names), texts, names
    )


@pytest.mark.weekly
@pytest.mark.slow
def test_cross_val_predict(estimator, texts, names):
    found = cross_val_predict(estimator, texts, names, cv=2, method="predict_proba")
    assert found.shape == (8, 2) and np.allclose(found.sum(axis=1), 1)


@pytest.mark.weekly
@pytest.mark.slow
def test_cross_val_score_of_a_table(estimator, preset, texts, names):
    df = pd.DataFrame({"text": texts, "label": names}).sample(frac=1, random_state=2)
    cv = StratifiedKFold(2, shuffle=True, random_state=3)
    scores = cross_val_score(estimator, df["text"], df["label"], cv=cv)
    splits = cv.split(df["text"], df["label"])
    assert scores.tolist() == accuracies(preset, splits, df["text"], df["label"])


@pytest.mark.slow
def test_grid_search(estimator, texts, names, assert_close):
    search = GridSearchCV(estimator, {"learning_rate": [1e-6, 1e-2]}, cv=2, scoring="f1_macro")
    search.fit(texts, names)
    best = search.best_params_["learning_rate"]
    expected = clone(estimator).set_params(learning_rate=best).fit(texts, names)
    assert_close(search.predict_proba(texts), expected.predict_proba(texts))
    assert len(search.cv_results_["mean_test_score"]) == 2


def lowered(texts):
    return [text.lower() for text in texts]


@pytest.mark.weekly
@pytest.mark.slow
def test_a_pipeline(estimator, fitted, texts, names, assert_close):
    pipeline = Pipeline([("clean", FunctionTransformer(lowered)), ("model", estimator)])
    pipeline.set_params(model__epochs=1).fit([text.upper() for text in texts], names)
    assert_close(pipeline.predict_proba(texts), fitted.predict_proba(texts))


def test_an_invalid_parameter_of_a_grid(estimator, texts, names):
    search = GridSearchCV(estimator, {"lr": [1e-4]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="(?s)Invalid parameter 'lr'.*'learning_rate'"):
        search.fit(texts, names)


def test_one_class(estimator, texts):
    with pytest.raises(ValueError, match="needs two classes or more; got 1 class, no"):
        estimator.fit(texts, ["no"] * 8)


def test_numbers_as_texts(estimator, labels):
    with pytest.raises(ValueError, match="takes raw examples"):
        estimator.fit(np.ones((8, 3)), labels)


def test_labels_that_are_missing(estimator, texts, names):
    series = pd.Series([*names[:7], None])
    for y in (series, series.to_frame(), [*names[:7], np.nan], [*names[:7], None]):
        with pytest.raises(ValueError, match="Label 7 is (nan|None): leave the example out"):
            estimator.fit(texts, y)


# Around Keras models


@pytest.mark.weekly
@pytest.mark.slow
def test_train_test_split_of_series(sgd_model, texts, labels, by_hand, trained_as, assert_close):
    df = pd.DataFrame({"text": texts, "label": labels})
    x_train, x_test, y_train, y_test = train_test_split(
        df["text"], df["label"], test_size=0.25, random_state=1, stratify=df["label"]
    )
    history = sgd_model.fit(x_train, y_train, validation_data=(x_test, y_test), **PLAIN)
    expected = sgd_model.evaluate(x_test.tolist(), y_test.tolist(), verbose=0)
    assert_close(history.history["val_loss"][0], expected[0])
    trained_as(sgd_model, history, by_hand(rows=list(x_train.index)))


@pytest.mark.weekly
@pytest.mark.slow
def test_train_test_split_of_lists(sgd_model, texts, labels, by_hand, trained_as):
    x_train, _, y_train, _ = train_test_split(texts, labels, test_size=0.5, random_state=1)
    rows, _ = train_test_split(range(8), test_size=0.5, random_state=1)
    trained_as(sgd_model, sgd_model.fit(x_train, y_train, **PLAIN), by_hand(rows=rows))


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("splitter", [KFold, StratifiedKFold])
def test_folds(splitter, sgd_model, texts, labels, by_hand, same_weights):
    x, y, start = np.array(texts), np.array(labels), sgd_model.get_weights()
    for train, test in splitter(2).split(x, y):
        sgd_model.set_weights(start)
        sgd_model.fit(x[train], y[train], validation_data=(x[test], y[test]), **PLAIN)
        same_weights(sgd_model, by_hand(rows=train)[1])


@pytest.mark.weekly
@pytest.mark.slow
def test_a_new_model_in_each_fold(preset, texts, labels, by_hand, same_weights):
    df = pd.DataFrame({"text": texts, "label": labels})
    for train, _ in KFold(2).split(df):
        keras.backend.clear_session()
        model = BertClassifier.from_preset(preset)
        model.compile(keras.optimizers.SGD(0.1))
        part = df.iloc[train]
        model.fit(part["text"], part["label"], **PLAIN)
        same_weights(model, by_hand(rows=train)[1])


def test_classification_report_of_answers(compiled, texts, names):
    predicted = [answer["label"] for answer in compiled.answer(texts)]
    report = classification_report(names, predicted, output_dict=True)
    assert {"no", "yes"} <= report.keys()
    scores = compiled.scores(texts, names)
    assert report["accuracy"] == pytest.approx(scores["accuracy"])


def test_classification_report_of_predict(compiled, texts, labels):
    predicted = compiled.predict(texts, verbose=0).argmax(-1)
    report = classification_report(labels, predicted, target_names=NAMES, output_dict=True)
    assert report["accuracy"] == pytest.approx(compiled.evaluate(texts, labels, verbose=0)[1])


def test_confusion_matrix(compiled, texts, names, labels):
    answers = [answer["label"] for answer in compiled.answer(texts)]
    of_answers = confusion_matrix(names, answers, labels=NAMES)
    predicted = compiled.predict(texts, verbose=0).argmax(-1)
    assert of_answers.tolist() == confusion_matrix(labels, predicted).tolist()
    assert of_answers.sum() == 8


def test_scores_are_those_of_scikit_learn(compiled, texts, labels):
    predicted = compiled.predict(texts, verbose=0).argmax(-1)
    scores = compiled.scores(texts, labels)
    assert scores["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert scores["f1"] == pytest.approx(f1_score(labels, predicted))


def test_label_encoder(sgd_model, texts, names, plain, trained_as):
    encoder = LabelEncoder()
    y = encoder.fit_transform(names)
    trained_as(sgd_model, sgd_model.fit(texts, y, **PLAIN), plain())
    assert encoder.inverse_transform(sgd_model.predict(texts, verbose=0).argmax(-1)).shape == (8,)


def test_label_names_of_a_label_encoder(preset, names, texts):
    encoder = LabelEncoder().fit(names)
    model = BertClassifier.from_preset(preset, label_names=encoder.classes_)
    assert model.preprocessor.label_names == NAMES


def test_predict_proba_of_a_keras_model(compiled, texts):
    with pytest.raises(AttributeError, match=r"answer\("):
        compiled.predict_proba(texts)


@pytest.fixture(scope="module")
def embedder(make_encoder, tokenizer):
    return BertEmbedder(make_encoder(), preprocessor=BertEmbedderPreprocessor(tokenizer, 8))


def test_logistic_regression_on_embeddings(embedder, texts, labels):
    vectors = embedder.encode_document(texts)
    classifier = LogisticRegression(C=100.0).fit(vectors, labels)
    assert classifier.score(vectors, labels) == 1.0
    by_predict = LogisticRegression(C=100.0).fit(embedder.predict(texts, verbose=0), labels)
    np.testing.assert_allclose(by_predict.coef_, classifier.coef_, rtol=1e-3)


def test_an_embedder_in_a_pipeline(embedder, texts, labels):
    pipeline = make_pipeline(
        FunctionTransformer(embedder.encode_document), LogisticRegression(C=100.0)
    )
    df = pd.DataFrame({"text": texts, "label": labels})
    pipeline.fit(df["text"], df["label"])
    vectors = embedder.encode_document(texts)
    expected = LogisticRegression(C=100.0).fit(vectors, labels).predict_proba(vectors)
    np.testing.assert_allclose(pipeline.predict_proba(df["text"]), expected, rtol=1e-5)
