"""Pairs, features, words, questions and choices in the forms in which users have them."""

import keras
import numpy as np
import pandas as pd
import pytest

import keras_bert
from keras_bert import BertClassifier, BertClassifierPreprocessor
from tests.habits.conftest import LABELS, NAMES, TEXTS, Rows

SGD = keras.optimizers.SGD


SECOND = ["b", "c a", "d", "g", "a b", "k l", "m", "d"]


@pytest.fixture(scope="module")
def paired(compiled):
    return compiled.evaluate(list(zip(TEXTS, SECOND, strict=True)), LABELS, verbose=0)


PAIRS = {
    "a tuple of lists": lambda x, y: ((x, SECOND), y),
    "a list of lists": lambda x, y: ([list(pair) for pair in zip(x, SECOND, strict=True)], y),
    "a tuple of columns": lambda x, y: ((pd.Series(x), pd.Series(SECOND)), y),
    "a table": lambda x, y: (pd.DataFrame({"a": x, "b": SECOND}), y),
    "an array": lambda x, y: (np.stack([x, SECOND], axis=1), y),
    "a generator": lambda x, y: (iter(zip(zip(x, SECOND, strict=True), y, strict=True)),),
    "a dict": lambda x, y: ({"text": (x, SECOND)}, y),
}


@pytest.mark.parametrize("form", PAIRS)
def test_pairs(form, compiled, texts, labels, paired, assert_close):
    data = PAIRS[form](texts, labels)
    assert_close(compiled.evaluate(*data, verbose=0), paired)


def test_a_dataset_of_pairs(compiled, tf, texts, labels, paired, assert_close):
    ds = tf.data.Dataset.from_tensor_slices(((texts, SECOND), labels)).batch(4)
    assert_close(compiled.evaluate(ds, verbose=0), paired)


def test_a_list_of_two_columns(compiled, texts, labels):
    with pytest.raises(ValueError, match="tuple of two columns"):
        compiled.evaluate([texts, SECOND], labels, verbose=0)


def test_pairs_for_some_texts(compiled):
    with pytest.raises(ValueError, match="give all of them a second text, or none"):
        compiled.predict([("a", "b"), "c"], verbose=0)


@pytest.fixture(scope="module")
def featured(make_encoder, tokenizer):
    reader = BertClassifierPreprocessor(tokenizer, 8, label_names=NAMES)
    model = BertClassifier(make_encoder(), preprocessor=reader, num_features=2, dropout=0.0)
    model.adapt_features(FEATURES)
    model.compile(SGD(0.1))
    return model


FEATURES = np.arange(16).reshape(8, 2) / 4


@pytest.fixture(scope="module")
def featured_loss(featured):
    return featured.evaluate({"text": TEXTS, "features": FEATURES}, LABELS, verbose=0)


def test_features_of_a_table(featured, df, featured_loss, assert_close):
    df[["width", "height"]] = FEATURES
    x = {"text": df["text"], "features": df[["width", "height"]]}
    assert_close(featured.evaluate(x, df["label"], verbose=0), featured_loss)


@pytest.mark.slow
def test_features_in_a_dataset(featured, tf, texts, labels, featured_loss, assert_close):
    x = {"text": texts, "features": FEATURES}
    ds = tf.data.Dataset.from_tensor_slices((x, labels)).batch(4)
    assert_close(featured.evaluate(ds, verbose=0), featured_loss)


def test_features_in_rows(featured, texts, labels, featured_loss, assert_close):
    rows = [
        {"text": text, "features": row, "label": label}
        for text, row, label in zip(texts, FEATURES.tolist(), labels, strict=True)
    ]
    assert_close(featured.evaluate(rows, verbose=0), featured_loss)
    assert_close(featured.evaluate(iter(rows), verbose=0), featured_loss)


def test_features_without_texts(featured, labels):
    with pytest.raises(ValueError, match=r"give \{'text': texts, 'features'"):
        featured.evaluate(FEATURES, labels, verbose=0)


def test_texts_without_features(featured, texts):
    with pytest.raises(ValueError, match=r"give \{'text': texts, 'features'"):
        featured.predict(texts, verbose=0)


def test_missing_features(featured, df):
    df[["width", "height"]] = FEATURES
    df.loc[3, "width"] = np.nan
    with pytest.raises(ValueError, match=r"(?s)features.*nan.*fill the value"):
        featured.predict({"text": df["text"], "features": df[["width", "height"]]}, verbose=0)


@pytest.mark.slow
def test_a_regression_of_a_column(make_encoder, tokenizer, df, assert_close):
    model = BertClassifier(
        make_encoder(), num_classes=1, preprocessor=BertClassifierPreprocessor(tokenizer, 8)
    )
    model.compile(SGD(0.1))
    df["score"] = np.arange(8) / 4
    errors = model.predict(df["text"], verbose=0)[:, 0] - df["score"].to_numpy()
    assert_close(model.evaluate(df["text"], df["score"], verbose=0), np.mean(errors**2))
    assert_close(model.evaluate(df["text"], df[["score"]], verbose=0), np.mean(errors**2))
    with pytest.raises(ValueError, match="(?i)labels of a regression.*nan"):
        model.evaluate(df["text"], df["score"].where(df["score"] < 1), verbose=0)


@pytest.fixture(scope="module")
def tagger(make_encoder, tokenizer):
    reader = keras_bert.BertTokenClassifierPreprocessor(tokenizer, 8, label_names=["O", "X"])
    model = keras_bert.BertTokenClassifier(make_encoder(), preprocessor=reader)
    model.compile(SGD(0.1))
    return model


WORDS = [["a", "b"], ["c"], ["d", "e", "f"], ["g", "h"]]
TAGS = [["O", "X"], ["X"], ["O", "O", "X"], ["X", "X"]]


def test_words_and_tags(tagger, assert_close):
    expected = tagger.evaluate(WORDS, TAGS, verbose=0)
    assert_close(tagger.evaluate(pd.Series(WORDS), pd.Series(TAGS), verbose=0), expected)
    found = tagger.evaluate(iter(zip(WORDS, TAGS, strict=True)), verbose=0)
    assert_close(found, expected)


def test_tags_by_number(tagger, assert_close):
    numbers = [[int(tag == "X") for tag in tags] for tags in TAGS]
    expected = tagger.evaluate(WORDS, TAGS, verbose=0)
    assert_close(tagger.evaluate(WORDS, numbers, verbose=0), expected)


def test_fewer_tags_than_words(tagger):
    with pytest.raises(ValueError, match="3 words.*2|2.*3 words|words"):
        tagger.fit(WORDS, [*TAGS[:2], ["O", "X"], TAGS[3]], verbose=0)


@pytest.fixture(scope="module")
def reader_of_answers(make_encoder, tokenizer):
    reader = keras_bert.BertSpanLabelerPreprocessor(tokenizer, 12, max_question_length=4)
    model = keras_bert.BertSpanLabeler(make_encoder(), preprocessor=reader)
    model.compile(SGD(0.1))
    return model


QUESTIONS = [
    {"question": "a b", "context": "c d e", "answers": [{"text": "d", "answer_start": 2}]},
    {"question": "f", "context": "g h", "answers": [{"text": "g h", "answer_start": 0}]},
]


def test_questions_of_squad(reader_of_answers, assert_close):
    expected = reader_of_answers.evaluate(QUESTIONS, verbose=0)
    assert np.isfinite(expected).all()
    assert_close(reader_of_answers.evaluate(iter(QUESTIONS), verbose=0), expected)
    assert_close(reader_of_answers.evaluate(Rows(QUESTIONS), verbose=0), expected)
    records = pd.DataFrame(QUESTIONS).to_dict("records")
    assert_close(reader_of_answers.evaluate(records, verbose=0), expected)


def test_questions_of_hugging_face(reader_of_answers):
    question = {**QUESTIONS[0], "id": "1", "answers": {"text": ["d"], "answer_start": [2]}}
    same = {**question, "answers": [{"text": "d", "answer_start": 2}]}
    assert reader_of_answers.scores([question]) == reader_of_answers.scores([same])
    wrong = {**QUESTIONS[0], "answers": {"text": ["d"]}}
    with pytest.raises(ValueError, match="must be a list of dicts of 'text' and 'answer_start'"):
        reader_of_answers.fit([wrong], verbose=0)


def test_a_table_of_questions(reader_of_answers):
    with pytest.raises(ValueError, match="question"):
        reader_of_answers.evaluate(pd.DataFrame(QUESTIONS), verbose=0)


def test_questions_in_answer(reader_of_answers):
    found = reader_of_answers.answer([{"question": "a b", "context": "c d e"}])
    assert found == reader_of_answers.answer(iter([{"question": "a b", "context": "c d e"}]))
    assert reader_of_answers.answer({"question": "a b", "context": "c d e"}) == found[0]


CHOICES = [
    {"context": "a b", "choices": ["c", "d e"], "label": 1},
    {"context": "f", "choices": ["g h", "a"], "label": 0},
]


def test_choices_as_rows(make_encoder, tokenizer, assert_close):
    reader = keras_bert.BertMultipleChoicePreprocessor(tokenizer, 8)
    model = keras_bert.BertMultipleChoice(make_encoder(), preprocessor=reader)
    model.compile(SGD(0.1))
    expected = model.evaluate(CHOICES, verbose=0)
    assert_close(model.evaluate(iter(CHOICES), verbose=0), expected)
    assert_close(model.evaluate(Rows(CHOICES), verbose=0), expected)
    assert len(model.answer(CHOICES)) == 2
