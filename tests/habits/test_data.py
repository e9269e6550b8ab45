"""Texts in memory, labels, weights and validation data in the forms in which users have them."""

import csv

import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_class_weight

import keras_bert
from keras_bert import BertClassifier, BertClassifierPreprocessor
from tests.habits.conftest import PLAIN, WEIGHTS, Rows

SGD = keras.optimizers.SGD


def test_numpy_strings(sgd_model, texts, labels, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(np.array(texts), np.array(labels), **PLAIN), plain())


def test_numpy_objects(sgd_model, texts, names, plain, trained_as):
    x, y = np.array(texts, dtype=object), np.array(names, dtype=object)
    trained_as(sgd_model, sgd_model.fit(x, y, **PLAIN), plain())


def test_numpy_bytes(sgd_model, texts, names, plain, trained_as):
    x, y = np.array(texts, dtype="S"), np.array(names, dtype="S")
    trained_as(sgd_model, sgd_model.fit(x, y, **PLAIN), plain())


def test_numpy_string_dtype(sgd_model, texts, names, plain, trained_as):
    x, y = (np.array(v, dtype=np.dtypes.StringDType()) for v in (texts, names))
    trained_as(sgd_model, sgd_model.fit(x, y, **PLAIN), plain())


def test_numpy_strings_in_a_column(sgd_model, texts, labels, plain, trained_as):
    x = np.array(texts).reshape(-1, 1)
    trained_as(sgd_model, sgd_model.fit(x, labels, **PLAIN), plain())


def test_tuples(sgd_model, texts, labels, compiled):
    with pytest.raises(ValueError, match="list of tuples, or a tuple of two columns"):
        sgd_model.fit(tuple(texts), tuple(labels), **PLAIN)


def test_a_tensor_of_strings(sgd_model, tf, texts, labels, plain, trained_as):
    history = sgd_model.fit(tf.constant(texts), tf.constant(labels), **PLAIN)
    trained_as(sgd_model, history, plain())


def test_torch_labels(sgd_model, torch, texts, labels, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(texts, torch.tensor(labels), **PLAIN), plain())


def test_backend_tensors_as_labels(sgd_model, texts, labels, plain, trained_as):
    y = keras.ops.convert_to_tensor(labels)
    trained_as(sgd_model, sgd_model.fit(texts, y, **PLAIN), plain())


def test_names_as_labels(sgd_model, texts, names, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(texts, names, **PLAIN), plain())


def test_float_labels(sgd_model, texts, labels, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(texts, np.array(labels, float), **PLAIN), plain())


def test_bool_labels(sgd_model, texts, labels, plain, trained_as):
    y = np.array(labels) == 1
    trained_as(sgd_model, sgd_model.fit(texts, y, **PLAIN), plain())


def test_labels_in_a_column(sgd_model, texts, labels, plain, trained_as):
    y = np.array(labels).reshape(-1, 1)
    trained_as(sgd_model, sgd_model.fit(texts, y, **PLAIN), plain())


def test_labels_in_lists_of_one(sgd_model, texts, labels, plain, trained_as):
    y = [[label] for label in labels]
    trained_as(sgd_model, sgd_model.fit(texts, y, **PLAIN), plain())


# pandas


def test_columns_of_a_table(sgd_model, df, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(df["text"], df["label"], **PLAIN), plain())


def test_tables_of_one_column(sgd_model, df, labels, plain, trained_as):
    df["label"] = labels
    trained_as(sgd_model, sgd_model.fit(df[["text"]], df[["label"]], **PLAIN), plain())


def test_names_in_a_table_of_one_column(sgd_model, df, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(df[["text"]], df[["label"]], **PLAIN), plain())


@pytest.mark.parametrize("dtype", ["string", "object", "category"])
def test_string_dtypes_of_pandas(dtype, sgd_model, df, plain, trained_as):
    df = df.astype(dtype)
    trained_as(sgd_model, sgd_model.fit(df["text"], df["label"], **PLAIN), plain())


def test_codes_of_a_category(sgd_model, df, plain, trained_as):
    y = df["label"].astype("category").cat.codes
    trained_as(sgd_model, sgd_model.fit(df["text"], y, **PLAIN), plain())


def test_nullable_integers_of_pandas(sgd_model, df, labels, plain, trained_as):
    y = pd.Series(labels, dtype="Int64")
    trained_as(sgd_model, sgd_model.fit(df["text"], y, **PLAIN), plain())


def test_values_and_lists_of_a_table(sgd_model, df, plain, trained_as):
    history = sgd_model.fit(df["text"].values, df["label"].tolist(), **PLAIN)
    trained_as(sgd_model, history, plain())


def test_rows_of_a_table_in_another_order(sgd_model, df, by_hand, trained_as):
    shuffled = df.sample(frac=1, random_state=4)
    expected = by_hand(rows=list(shuffled.index))
    history = sgd_model.fit(shuffled["text"], shuffled["label"], **PLAIN)
    trained_as(sgd_model, history, expected)


def test_some_rows_of_a_table(compiled, df, texts, labels, assert_close):
    part = df[df["text"].str.len() > 1]
    rows = list(part.index)
    expected = compiled.evaluate([texts[r] for r in rows], [labels[r] for r in rows], verbose=0)
    assert_close(compiled.evaluate(part["text"], part["label"], verbose=0), expected)


def test_answers_as_a_new_column(compiled, df, texts):
    df["answer"] = [answer["label"] for answer in compiled.answer(df["text"])]
    assert df["answer"].tolist() == [answer["label"] for answer in compiled.answer(texts)]


def test_answers_as_a_table(compiled, df, assert_close):
    table = pd.DataFrame(compiled.answer(df["text"]))
    probabilities = np.stack(table["probabilities"])
    assert_close(probabilities, keras.ops.softmax(compiled.predict(df["text"], verbose=0)))


def test_a_whole_table(sgd_model, df, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(df, **PLAIN), plain())


def test_a_table_without_labels(sgd_model, df):
    with pytest.raises(ValueError, match="pass y"):
        sgd_model.fit(df[["text"]], verbose=0)


def test_a_table_with_its_labels(sgd_model, df):
    with pytest.raises(ValueError, match=r"pass table\['text'\]"):
        sgd_model.fit(df, df["label"], verbose=0)


def test_a_missing_text(sgd_model, df):
    df.loc[3, "text"] = np.nan
    with pytest.raises(ValueError, match="Text 3"):
        sgd_model.fit(df["text"], df["label"], verbose=0)


def test_none_as_a_text(compiled, texts):
    with pytest.raises(ValueError, match="Text 2 is None"):
        compiled.predict([*texts[:2], None], verbose=0)


def test_a_missing_label(sgd_model, df):
    df.loc[3, "label"] = np.nan
    with pytest.raises(ValueError, match="Label 3"):
        sgd_model.fit(df["text"], df["label"], verbose=0)


def test_a_missing_number_as_a_label(sgd_model, texts, labels):
    y = pd.Series([*labels[:7], np.nan])
    with pytest.raises(ValueError, match=r"(?i)labels? .*nan"):
        sgd_model.fit(texts, y, verbose=0)


def test_a_missing_nullable_label(sgd_model, texts, labels):
    y = pd.Series([*labels[:7], pd.NA], dtype="Int64")
    with pytest.raises(ValueError, match=r"(?i)label.*(nan|NA)"):
        sgd_model.fit(texts, y, verbose=0)


def test_dropna(compiled, df, texts, labels, assert_close):
    df.loc[3, "text"] = None
    df = df.dropna()
    rows = [0, 1, 2, 4, 5, 6, 7]
    expected = compiled.evaluate([texts[r] for r in rows], [labels[r] for r in rows], verbose=0)
    assert_close(compiled.evaluate(df["text"], df["label"], verbose=0), expected)


def test_a_csv_of_pandas(compiled, df, tmp_path, expected_loss, assert_close):
    df.to_csv(tmp_path / "a.csv", index=False)
    df = pd.read_csv(tmp_path / "a.csv")
    assert_close(compiled.evaluate(df.text, df.label, verbose=0)[0], expected_loss)


def test_rows_of_the_csv_module(compiled, df, tmp_path, expected_loss, assert_close):
    df.to_csv(tmp_path / "a.csv", index=False)
    with open(tmp_path / "a.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    x, y = [row["text"] for row in rows], [row["label"] for row in rows]
    assert_close(compiled.evaluate(x, y, verbose=0)[0], expected_loss)


def test_read_table(compiled, df, tmp_path, expected_loss, assert_close):
    df.to_csv(tmp_path / "a.csv", index=False)
    table = keras_bert.readers.read_table(tmp_path / "a.csv")
    assert_close(compiled.evaluate(table["text"], table["label"], verbose=0)[0], expected_loss)


# Wrong labels and examples


def test_a_misspelt_label(sgd_model, texts, names):
    with pytest.raises(ValueError, match="Did you mean 'yes'"):
        sgd_model.fit(texts, [*names[:7], "Yes"], verbose=0)


def test_labels_from_one(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="Number the classes from 0"):
        sgd_model.fit(texts, np.array(labels) + 1, verbose=0)


def test_names_without_label_names(make_encoder, tokenizer, texts, names):
    reader = BertClassifierPreprocessor(tokenizer, 8)
    model = BertClassifier(make_encoder(), num_classes=2, preprocessor=reader)
    with pytest.raises(ValueError, match=r"label_names=\['no', 'yes'\]"):
        model.fit(texts, names, verbose=0)


def test_a_set_of_label_names(tokenizer):
    with pytest.raises(ValueError, match="label_names must be a list"):
        BertClassifierPreprocessor(tokenizer, 8, label_names={"no", "yes"})


def test_more_texts_than_labels(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="8.*7|7.*8"):
        sgd_model.fit(texts, labels[:7], verbose=0)


def test_no_labels(sgd_model, texts):
    with pytest.raises(ValueError, match="pass y"):
        sgd_model.fit(texts, verbose=0)


def test_no_examples(sgd_model):
    for call in (sgd_model.fit, sgd_model.evaluate):
        with pytest.raises(ValueError, match="empty|no texts|no examples"):
            call([], [], verbose=0)
    for call in (sgd_model.predict, sgd_model.answer):
        with pytest.raises(ValueError, match="no texts|no examples"):
            call([])


def test_a_single_string(compiled, texts, assert_close):
    assert_close(compiled.predict("a b", verbose=0), compiled.predict(texts, verbose=0)[:1])
    assert compiled.answer("a b")["label"] == compiled.answer(texts)[0]["label"]


def test_a_single_string_in_fit(sgd_model):
    with pytest.raises(ValueError, match="y must have a value for each example"):
        sgd_model.fit("a b", "yes", verbose=0)


def test_a_file_name_in_fit(sgd_model):
    with pytest.raises(ValueError, match="pass y"):
        sgd_model.fit("train.csv", verbose=0)


def test_a_set_of_texts(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="takes raw examples"):
        sgd_model.fit(set(texts), labels, verbose=0)


# Weights


@pytest.mark.parametrize(
    "form",
    [np.array, pd.Series, lambda w: pd.DataFrame({"weight": w}), lambda w: [[x] for x in w], tuple],
)
def test_sample_weight(form, sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(texts, labels, sample_weight=form(WEIGHTS), **PLAIN)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


def test_sample_weight_by_a_mask(sgd_model, texts, labels, by_hand, same_weights):
    mask = np.array(WEIGHTS) > 0
    sgd_model.fit(texts, labels, sample_weight=mask, **PLAIN)
    same_weights(sgd_model, by_hand(weights=mask.astype(float))[1])


def test_sample_weight_of_scikit_learn(sgd_model, texts, labels, by_hand, same_weights):
    from sklearn.utils.class_weight import compute_sample_weight

    weights = compute_sample_weight("balanced", labels)
    sgd_model.fit(texts, labels, sample_weight=weights, **PLAIN)
    same_weights(sgd_model, by_hand(weights=weights)[1])


def test_sample_weight_in_evaluate(compiled, texts, labels, assert_close):
    logits = compiled.predict(texts, verbose=0)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(8), labels]
    found = compiled.evaluate(texts, labels, sample_weight=WEIGHTS, verbose=0)[0]
    assert_close(found, np.mean(losses * WEIGHTS))


def test_sample_weight_with_validation_split(
    sgd_model, texts, labels, by_hand, same_weights, assert_close
):
    options = {"sample_weight": WEIGHTS, "validation_split": 0.5}
    history = sgd_model.fit(texts, labels, **options, **PLAIN).history
    same_weights(sgd_model, by_hand(rows=range(4), weights=WEIGHTS)[1])
    half = sgd_model.evaluate(texts[4:], labels[4:], sample_weight=WEIGHTS[4:], verbose=0)
    assert_close(history["val_loss"][0], half[0])


def test_too_few_weights(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="weights"):
        sgd_model.fit(texts, labels, sample_weight=WEIGHTS[:5], verbose=0)


def test_a_missing_weight(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="(?i)weight.*nan"):
        sgd_model.fit(texts, labels, sample_weight=[*WEIGHTS[:7], np.nan], verbose=0)


def test_sample_weight_and_dicts_of_classes(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="sample_weight must have a value for each example"):
        sgd_model.fit(texts, labels, sample_weight={0: 1.0, 1: 3.0}, verbose=0)


def test_class_weight_of_scikit_learn_by_name(sgd_model, texts, names, by_hand, same_weights):
    values = compute_class_weight("balanced", classes=np.unique(names), y=names)
    by_name = dict(zip(np.unique(names), values, strict=True))
    sgd_model.fit(texts, names, class_weight=by_name, **PLAIN)
    same_weights(sgd_model, by_hand(weights=[by_name[name] for name in names])[1])


def test_a_misspelt_class_weight(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="Did you mean 'yes'"):
        sgd_model.fit(texts, labels, class_weight={"Yes": 2.0}, verbose=0)


# Validation


def test_validation_split(sgd_model, texts, labels, by_hand, same_weights, assert_close):
    history = sgd_model.fit(texts, labels, validation_split=0.25, **PLAIN).history
    same_weights(sgd_model, by_hand(rows=range(6))[1])
    assert_close(history["val_loss"][0], sgd_model.evaluate(texts[6:], labels[6:], verbose=0)[0])


VALIDATION = {
    "lists": lambda x, y: (x, y),
    "arrays": lambda x, y: (np.array(x), np.array(y)),
    "columns": lambda x, y: (pd.Series(x), pd.Series(y)),
    "tables": lambda x, y: (pd.DataFrame({"x": x}), pd.DataFrame({"y": y})),
    "a generator": lambda x, y: iter(zip(x, y, strict=True)),
    "a list of weights": lambda x, y: (x, y, [1.0] * len(x)),
    "rows": lambda x, y: Rows({"text": a, "label": b} for a, b in zip(x, y, strict=True)),
}


@pytest.mark.parametrize("form", VALIDATION)
def test_validation_data(form, sgd_model, texts, labels, assert_close):
    data = VALIDATION[form](texts, labels)
    history = sgd_model.fit(texts, labels, validation_data=data, epochs=1, **PLAIN).history
    assert_close(history["val_loss"][0], sgd_model.evaluate(texts, labels, verbose=0)[0])


def test_validation_data_as_a_list(sgd_model, texts, labels):
    with pytest.raises(ValueError, match=r"validation_data must be \(x, y\)"):
        sgd_model.fit(texts, labels, validation_data=[texts, labels], verbose=0)
