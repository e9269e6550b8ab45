"""Pairs, features, words, questions and choices in the forms in which users have them."""

import keras
import numpy as np
import pandas as pd
import pytest

import keras_bert
from keras_bert import BertClassifier, BertClassifierPreprocessor
from tests.habits.conftest import EAGERLY, LABELS, NAMES, TEXTS, Rows

SGD = keras.optimizers.SGD


def batches_of(model, *data):
    return [*model.batches(*data, batching=keras_bert.Batching(4, shuffle=False))]


@pytest.fixture(scope="module")
def featured(make_encoder, tokenizer):
    reader = BertClassifierPreprocessor(tokenizer, 8, label_names=NAMES)
    model = BertClassifier(make_encoder(), preprocessor=reader, num_features=2, dropout=0.0)
    model.adapt_features(FEATURES)
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    return model


FEATURES = np.arange(16).reshape(8, 2) / 4


@pytest.fixture(scope="module")
def featured_loss(featured):
    return featured.evaluate({"text": TEXTS, "features": FEATURES}, LABELS, verbose=0)


def test_features_of_a_table_and_of_rows(featured, df, featured_loss, assert_close):
    df[["width", "height"]] = FEATURES
    x = {"text": df["text"], "features": df[["width", "height"]]}
    rows = [
        {"text": text, "features": row, "label": label}
        for text, row, label in zip(TEXTS, FEATURES.tolist(), LABELS, strict=True)
    ]
    for data in ((x, df["label"]), (rows,), (iter(rows),)):
        assert_close(featured.evaluate(*data, verbose=0), featured_loss)


def test_a_regression_of_a_column(make_encoder, tokenizer, df, assert_close, refused):
    reader = BertClassifierPreprocessor(tokenizer, 8)
    model = BertClassifier(make_encoder(), num_classes=1, preprocessor=reader)
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    df["score"] = np.arange(8) / 4
    errors = model.predict(df["text"], verbose=0)[:, 0] - df["score"].to_numpy()
    for column in (df["score"], df[["score"]]):
        assert_close(model.evaluate(df["text"], column, verbose=0), np.mean(errors**2))
    missing = df["score"].where(df["score"] < 1)
    refused("(?i)labels of a regression.*nan", model.evaluate, df["text"], missing)


@pytest.fixture(scope="module")
def tagger(make_encoder, tokenizer):
    reader = keras_bert.BertTokenClassifierPreprocessor(tokenizer, 8, label_names=["O", "X"])
    return keras_bert.BertTokenClassifier(make_encoder(), preprocessor=reader)


WORDS = [["a", "b"], ["c"], ["d", "e", "f"], ["g", "h"]]
TAGS = [["O", "X"], ["X"], ["O", "O", "X"], ["X", "X"]]


def test_words_and_tags(tagger, assert_close, refused):
    numbers = [[int(tag == "X") for tag in tags] for tags in TAGS]
    expected = batches_of(tagger, WORDS, TAGS)
    for data in (
        (pd.Series(WORDS), pd.Series(TAGS)),
        (iter(zip(WORDS, TAGS, strict=True)),),
        (WORDS, numbers),
    ):
        assert_close(batches_of(tagger, *data), expected)
    refused("3 words.*2|2.*3 words|words", tagger.fit, WORDS, [*TAGS[:2], ["O", "X"], TAGS[3]])


@pytest.fixture(scope="module")
def reader_of_answers(make_encoder, tokenizer):
    reader = keras_bert.BertSpanLabelerPreprocessor(tokenizer, 12, max_question_length=4)
    return keras_bert.BertSpanLabeler(make_encoder(), preprocessor=reader)


QUESTIONS = [
    {"question": "a b", "context": "c d e", "answers": [{"text": "d", "answer_start": 2}]},
    {"question": "f", "context": "g h", "answers": [{"text": "g h", "answer_start": 0}]},
]


def test_questions_of_squad(reader_of_answers, assert_close, refused):
    expected = batches_of(reader_of_answers, QUESTIONS)
    records = pd.DataFrame(QUESTIONS).to_dict("records")
    for form in (iter(QUESTIONS), Rows(QUESTIONS), records):
        assert_close(batches_of(reader_of_answers, form), expected)
    refused("question", reader_of_answers.evaluate, pd.DataFrame(QUESTIONS))
