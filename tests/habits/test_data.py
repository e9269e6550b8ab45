"""Examples, labels and weights in the forms in which users have them."""

import csv
from collections import UserList

import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.utils.class_weight import compute_class_weight

import keras_bert
from keras_bert import BertClassifier, BertClassifierPreprocessor

PLAIN = {"batch_size": 4, "shuffle": False, "verbose": 0}
WEIGHTS = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
NAMES = ["no", "yes"]
SGD = keras.optimizers.SGD


@pytest.fixture
def tf():
    return pytest.importorskip("tensorflow", reason="TensorFlow is not installed")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def names(labels):
    return [NAMES[label] for label in labels]


@pytest.fixture
def df(texts, names):
    return pd.DataFrame({"text": texts, "label": names})


@pytest.fixture
def dataset(tf, texts, labels):
    return tf.data.Dataset.from_tensor_slices((texts, labels))


@pytest.fixture(scope="module")
def expected_loss(compiled):
    """The loss of texts and labels in lists."""
    from tests.habits.conftest import LABELS, TEXTS

    return compiled.evaluate(TEXTS, LABELS, verbose=0)[0]


# tf.data


def test_from_tensor_slices(sgd_model, tf, texts, labels, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_a_dataset_without_batches(sgd_model, dataset, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(dataset, **PLAIN), plain())


@pytest.mark.slow
def test_a_dataset_of_numpy_arrays(sgd_model, tf, texts, labels, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices((np.array(texts), np.array(labels))).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0, epochs=2), plain(2))


def test_from_generator(sgd_model, tf, texts, labels, plain, trained_as):
    def generate():
        yield from zip(texts, labels, strict=True)

    signature = (tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int32))
    ds = tf.data.Dataset.from_generator(generate, output_signature=signature).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, epochs=2, verbose=0), plain(2))
    assert int(sgd_model.optimizer.iterations) == 4


def test_from_generator_by_types(sgd_model, tf, texts, names):
    pairs = list(zip(texts, names, strict=True))
    ds = tf.data.Dataset.from_generator(lambda: iter(pairs), (tf.string, tf.string))
    with pytest.raises(ValueError, match=r"must yield a text, \(text, label\).*shape=<unknown>"):
        sgd_model.fit(ds.batch(4), verbose=0)


def test_zip_of_two_datasets(sgd_model, tf, texts, labels, plain, trained_as):
    x = tf.data.Dataset.from_tensor_slices(texts)
    y = tf.data.Dataset.from_tensor_slices(labels)
    ds = tf.data.Dataset.zip((x, y)).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_map_in_a_dataset(sgd_model, tf, texts, labels, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices(([text.upper() for text in texts], labels))
    ds = ds.map(lambda x, y: (tf.strings.lower(x), y), num_parallel_calls=tf.data.AUTOTUNE)
    trained_as(sgd_model, sgd_model.fit(ds.batch(4), verbose=0), plain())


def test_cache_and_prefetch(sgd_model, tf, dataset, plain, trained_as):
    ds = dataset.batch(4).cache().prefetch(tf.data.AUTOTUNE)
    trained_as(sgd_model, sgd_model.fit(ds, epochs=2, verbose=0), plain(2))


def test_shuffle_with_a_seed(sgd_model, tf, texts, labels, by_hand, trained_as):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels))
    ds = ds.shuffle(8, seed=3, reshuffle_each_iteration=False)
    rows = [texts.index(text.decode()) for text, _ in ds.as_numpy_iterator()]
    assert rows != sorted(rows)
    trained_as(sgd_model, sgd_model.fit(ds.batch(4), verbose=0), by_hand(rows=rows))


def test_take_and_skip(sgd_model, texts, labels, dataset, by_hand, same_weights, assert_close):
    train, test = dataset.take(4).batch(4), dataset.skip(4).batch(4)
    history = sgd_model.fit(train, validation_data=test, verbose=0).history
    same_weights(sgd_model, by_hand(rows=range(4))[1])
    assert_close(history["val_loss"][0], sgd_model.evaluate(texts[4:], labels[4:], verbose=0)[0])


def test_repeat_and_steps_per_epoch(sgd_model, dataset, plain, trained_as):
    ds = dataset.batch(4).repeat()
    trained_as(sgd_model, sgd_model.fit(ds, epochs=2, steps_per_epoch=2, verbose=0), plain(2))


@pytest.mark.slow
def test_repeat_for_two_epochs(sgd_model, dataset, plain, trained_as):
    ds = dataset.repeat(2).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, epochs=2, steps_per_epoch=2, verbose=0), plain(2))


@pytest.mark.slow
def test_validation_steps_of_an_endless_dataset(sgd_model, dataset, assert_close):
    ds = dataset.batch(4)
    options = {"validation_data": ds.repeat(), "validation_steps": 2, "verbose": 0}
    history = sgd_model.fit(ds, **options).history
    assert_close(history["val_loss"][0], sgd_model.evaluate(ds, verbose=0)[0])


def test_filter(sgd_model, tf, dataset, by_hand, trained_as):
    ds = dataset.filter(lambda x, y: tf.strings.length(x) > 1).batch(4)
    history = sgd_model.fit(ds, verbose=0)
    trained_as(sgd_model, history, by_hand(rows=[0, 2, 3, 4, 6, 7]))
    assert int(sgd_model.optimizer.iterations) == 2


def test_text_line_dataset(sgd_model, tf, texts, labels, write, plain, trained_as):
    path = write("".join(f"{y}\t{x}\n" for x, y in zip(texts, labels, strict=True)))

    def split(line):
        parts = tf.strings.split(line, "\t")
        return parts[1], tf.strings.to_number(parts[0], tf.int32)

    ds = tf.data.TextLineDataset(str(path)).map(split).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_make_csv_dataset(sgd_model, tf, df, write, plain, trained_as):
    path = write(df.to_csv(index=False))
    ds = tf.data.experimental.make_csv_dataset(
        str(path), 4, label_name="label", num_epochs=1, shuffle=False
    )
    ds = ds.map(lambda columns, y: (columns["text"], y))
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


@pytest.fixture
def directory(texts, names, tmp_path):
    for number, (text, name) in enumerate(zip(texts, names, strict=True)):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"{number}.txt").write_text(text)
    return tmp_path


@pytest.mark.parametrize("label_mode", ["int", "binary"])
def test_text_dataset_from_directory(
    label_mode, directory, tf, compiled, expected_loss, assert_close
):
    ds = keras.utils.text_dataset_from_directory(
        directory, label_mode=label_mode, batch_size=4, seed=1, verbose=False
    )
    assert_close(compiled.evaluate(ds, verbose=0)[0], expected_loss)
    model = compiled
    assert ds.class_names == model.preprocessor.label_names


@pytest.mark.slow
def test_text_dataset_from_directory_in_halves(directory, tf, sgd_model):
    options = {"validation_split": 0.5, "subset": "both", "seed": 1, "verbose": False}
    train, test = keras.utils.text_dataset_from_directory(directory, batch_size=4, **options)
    history = sgd_model.fit(train, validation_data=test, verbose=0).history
    assert history["val_loss"] == [sgd_model.evaluate(test, verbose=0)[0]]


def test_text_dataset_from_directory_in_categories(directory, tf, sgd_model):
    ds = keras.utils.text_dataset_from_directory(
        directory, label_mode="categorical", batch_size=4, verbose=False
    )
    with pytest.raises(ValueError, match=r"y\.argmax\(axis=1\)"):
        sgd_model.fit(ds, verbose=0)


def test_names_as_labels_in_a_dataset(sgd_model, tf, texts, names, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices((texts, names)).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_a_dataset_of_dicts(sgd_model, tf, texts, labels, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices(({"text": texts}, labels)).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_a_dataset_of_a_table(sgd_model, tf, df):
    ds = tf.data.Dataset.from_tensor_slices(dict(df)).batch(4)
    with pytest.raises(ValueError, match=r"give y, or a dataset of \(text, label\)"):
        sgd_model.fit(ds, verbose=0)


def test_labels_in_a_column_of_a_dataset(sgd_model, tf, texts, labels, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices((texts, np.array(labels)[:, None])).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_float_labels_in_a_dataset(sgd_model, tf, texts, labels, plain, trained_as):
    ds = tf.data.Dataset.from_tensor_slices((texts, np.array(labels, "float32"))).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_one_hot_labels_in_a_dataset(model, tf, texts, labels, plain, trained_as):
    one_hot = keras.utils.to_categorical(labels)
    ds = tf.data.Dataset.from_tensor_slices((texts, one_hot)).batch(4)
    model.compile(SGD(0.1), loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    trained_as(model, model.fit(ds, verbose=0), plain())


def test_triples_in_a_dataset(sgd_model, tf, texts, labels, by_hand, same_weights):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels, WEIGHTS)).batch(4)
    sgd_model.fit(ds, verbose=0)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


@pytest.mark.slow
def test_triples_in_the_validation_dataset(sgd_model, tf, texts, labels, dataset, assert_close):
    test = tf.data.Dataset.from_tensor_slices((texts, labels, WEIGHTS)).batch(4)
    history = sgd_model.fit(dataset.batch(4), validation_data=test, verbose=0).history
    expected = sgd_model.evaluate(texts, labels, sample_weight=WEIGHTS, verbose=0)
    assert_close(history["val_loss"][0], expected[0])


def test_class_weight_with_a_dataset(sgd_model, dataset, labels, by_hand, same_weights):
    sgd_model.fit(dataset.batch(4), class_weight={"yes": 3.0}, verbose=0)
    same_weights(sgd_model, by_hand(weights=np.array([1, 3])[labels])[1])


def test_class_weight_with_triples(sgd_model, tf, texts, labels, by_hand, same_weights):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels, WEIGHTS)).batch(4)
    sgd_model.fit(ds, class_weight={0: 1, 1: 3.0}, verbose=0)
    same_weights(sgd_model, by_hand(weights=np.array([1, 3])[labels] * WEIGHTS)[1])


def test_balanced_class_weight_with_a_dataset(sgd_model, dataset):
    with pytest.raises(ValueError, match="give an array y, or a dict of weights"):
        sgd_model.fit(dataset.batch(4), class_weight="balanced", verbose=0)


def test_validation_split_of_a_dataset(sgd_model, dataset):
    with pytest.raises(ValueError, match="pass validation_data"):
        sgd_model.fit(dataset.batch(4), validation_split=0.2, verbose=0)


def test_a_dataset_and_y(sgd_model, dataset, labels):
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        sgd_model.fit(dataset.batch(4), labels, verbose=0)


def test_a_dataset_and_sample_weight(sgd_model, dataset):
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        sgd_model.fit(dataset.batch(4), sample_weight=WEIGHTS, verbose=0)


def test_a_dataset_of_texts_and_labels_apart(sgd_model, tf, texts, labels):
    ds = tf.data.Dataset.from_tensor_slices(texts).batch(4)
    with pytest.raises(ValueError, match="A dataset yields its labels"):
        sgd_model.fit(ds, labels, verbose=0)


def test_an_empty_dataset(sgd_model, dataset):
    for call in (sgd_model.fit, sgd_model.evaluate, sgd_model.predict):
        with pytest.raises(ValueError, match="no examples"):
            call(dataset.take(0).batch(4), verbose=0)


def test_an_empty_dataset_of_unknown_length(sgd_model, dataset):
    ds = dataset.filter(lambda x, y: False).batch(4)
    for call in (sgd_model.fit, sgd_model.evaluate, sgd_model.predict):
        with pytest.raises(ValueError, match="no examples"):
            call(ds, verbose=0)


def test_a_dataset_with_a_label_of_no_class(sgd_model, tf, texts):
    ds = tf.data.Dataset.from_tensor_slices((texts, [0, 1, 2, 3] * 2)).batch(4)
    with pytest.raises(Exception, match="Labels must be in 0 to 1"):
        sgd_model.fit(ds, verbose=0)


def test_a_dataset_in_evaluate(compiled, dataset, expected_loss, assert_close):
    assert_close(compiled.evaluate(dataset.batch(3), verbose=0)[0], expected_loss)


def test_a_dataset_of_unknown_length_in_evaluate(compiled, dataset, expected_loss, assert_close):
    ds = dataset.filter(lambda x, y: True).batch(4)
    assert_close(compiled.evaluate(ds, verbose=0)[0], expected_loss)


def test_a_dataset_in_predict(compiled, dataset, texts, assert_close):
    expected = compiled.predict(texts, verbose=0)
    assert_close(compiled.predict(dataset.batch(3), verbose=0), expected)
    unlabelled = dataset.map(lambda x, y: x)
    assert_close(compiled.predict(unlabelled, verbose=0), expected)


def test_a_dataset_in_answer(compiled, dataset, texts):
    found = [answer["label"] for answer in compiled.answer(dataset.batch(3))]
    assert found == [answer["label"] for answer in compiled.answer(texts)]


@pytest.mark.slow
def test_the_preprocessor_in_map(sgd_model, dataset, plain, trained_as):
    preprocessor = sgd_model.preprocessor
    ds = dataset.batch(4).map(lambda x, y: (preprocessor(x), y))
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


def test_a_dataset_of_prepared_arrays(sgd_model, tf, texts, labels, plain, trained_as):
    x = {name: np.array(v) for name, v in sgd_model.preprocessor(texts).items()}
    ds = tf.data.Dataset.from_tensor_slices((x, labels)).batch(4)
    trained_as(sgd_model, sgd_model.fit(ds, verbose=0), plain())


# Texts in memory


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


def test_a_whole_table(sgd_model, df):
    with pytest.raises(ValueError, match="give y"):
        sgd_model.fit(df, verbose=0)


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
    with pytest.raises(ValueError, match="give y"):
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
    with pytest.raises(ValueError, match="give y"):
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


class Rows(UserList):
    """Rows by number, with a column by name, as in a data set of Hugging Face."""

    def __getitem__(self, key):
        return UserList(row[key] for row in self) if isinstance(key, str) else self.data[key]


@pytest.mark.parametrize("form", VALIDATION)
def test_validation_data(form, sgd_model, texts, labels, assert_close):
    data = VALIDATION[form](texts, labels)
    history = sgd_model.fit(texts, labels, validation_data=data, epochs=1, **PLAIN).history
    assert_close(history["val_loss"][0], sgd_model.evaluate(texts, labels, verbose=0)[0])


def test_validation_data_as_a_list(sgd_model, texts, labels):
    with pytest.raises(ValueError, match=r"validation_data must be \(x, y\)"):
        sgd_model.fit(texts, labels, validation_data=[texts, labels], verbose=0)


# Generators and loaders


def test_a_generator_of_examples(sgd_model, texts, labels, plain, trained_as):
    generator = (pair for pair in zip(texts, labels, strict=True))
    trained_as(sgd_model, sgd_model.fit(generator, **PLAIN), plain())


def test_zip(sgd_model, texts, names, plain, trained_as):
    trained_as(
        sgd_model, sgd_model.fit(zip(texts, names, strict=True), epochs=2, **PLAIN), plain(2)
    )


def test_steps_per_epoch_of_an_endless_generator(sgd_model, texts, labels, plain, trained_as):
    def generate():
        while True:
            yield from zip(texts, labels, strict=True)

    history = sgd_model.fit(generate(), steps_per_epoch=2, epochs=2, **PLAIN)
    trained_as(sgd_model, history, plain(2))


def test_a_generator_of_batches(sgd_model, texts, labels, plain, trained_as):
    def generate():
        for start in (0, 4):
            yield np.array(texts[start : start + 4]), np.array(labels[start : start + 4])

    trained_as(sgd_model, sgd_model.fit(generate(), **PLAIN), plain())


def test_a_generator_of_lists(sgd_model, texts, labels):
    def generate():
        yield texts[:4], labels[:4]
        yield texts[4:], labels[4:]

    with pytest.raises(ValueError, match="Batches of a generator are arrays"):
        sgd_model.fit(generate(), verbose=0)


def test_a_generator_function_that_is_not_called(sgd_model, texts, labels):
    def generate():
        yield from zip(texts, labels, strict=True)

    with pytest.raises(ValueError, match="takes raw examples"):
        sgd_model.fit(generate, verbose=0)


def test_an_empty_generator(sgd_model):
    for call in (sgd_model.fit, sgd_model.evaluate, sgd_model.predict):
        with pytest.raises(ValueError, match="no examples"):
            call(iter([]), verbose=0)


def test_a_generator_of_weighted_examples(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(zip(texts, labels, WEIGHTS, strict=True), **PLAIN)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


def test_class_weight_with_a_generator(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(zip(texts, labels, strict=True), class_weight={"no": 2.0}, **PLAIN)
    same_weights(sgd_model, by_hand(weights=np.array([2, 1])[labels])[1])


def test_a_generator_in_evaluate_and_predict(compiled, texts, labels, expected_loss, assert_close):
    assert_close(compiled.evaluate(zip(texts, labels, strict=True), verbose=0)[0], expected_loss)
    expected = compiled.predict(texts, verbose=0)
    assert_close(compiled.predict((text for text in texts), verbose=0), expected)


class Sequence(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return 2

    def __getitem__(self, index):
        part = slice(4 * index, 4 * index + 4)
        rows = {n: v[part] for n, v in self.x.items()} if isinstance(self.x, dict) else self.x[part]
        return rows, np.array(self.y[part])


def test_a_py_dataset_of_texts(sgd_model, texts, labels):
    with pytest.raises(ValueError, match=r"give single ones, a list, or a tf\.data\.Dataset"):
        sgd_model.fit(Sequence(np.array(texts), labels), verbose=0)


def test_a_py_dataset_of_inputs(sgd_model, texts, labels, plain, trained_as):
    inputs = sgd_model.preprocessor(texts)
    x = {name: keras.ops.convert_to_numpy(value) for name, value in inputs.items()}
    history = sgd_model.fit(Sequence(x, labels), shuffle=False, epochs=2, verbose=0)
    trained_as(sgd_model, history, plain(2))


def test_a_data_loader(sgd_model, torch, texts, labels, plain, trained_as):
    pairs = list(zip(texts, labels, strict=True))
    loader = torch.utils.data.DataLoader(pairs, batch_size=4)
    trained_as(sgd_model, sgd_model.fit(loader, epochs=2, **PLAIN), plain(2))


def test_a_data_loader_of_a_dataset_class(sgd_model, torch, texts, labels, plain, trained_as):
    class Reviews(torch.utils.data.Dataset):
        def __len__(self):
            return len(texts)

        def __getitem__(self, index):
            return {"text": texts[index], "label": torch.tensor(labels[index])}

    loader = torch.utils.data.DataLoader(Reviews(), batch_size=2)
    trained_as(sgd_model, sgd_model.fit(loader, **PLAIN), plain())


def test_a_data_loader_in_evaluate(compiled, torch, texts, labels, expected_loss, assert_close):
    loader = torch.utils.data.DataLoader(list(zip(texts, labels, strict=True)), batch_size=3)
    assert_close(compiled.evaluate(loader, verbose=0)[0], expected_loss)


def test_a_data_loader_and_sample_weight(sgd_model, torch, texts, labels):
    loader = torch.utils.data.DataLoader(list(zip(texts, labels, strict=True)), batch_size=4)
    with pytest.raises(ValueError, match=r"yield \(text, label, weight\)"):
        sgd_model.fit(loader, sample_weight=WEIGHTS, verbose=0)


def test_a_data_loader_of_weighted_examples(sgd_model, torch, texts, labels, by_hand, same_weights):
    triples = list(zip(texts, labels, WEIGHTS, strict=True))
    sgd_model.fit(torch.utils.data.DataLoader(triples, batch_size=4), **PLAIN)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


@pytest.fixture
def rows(texts, labels):
    return Rows({"text": x, "label": y} for x, y in zip(texts, labels, strict=True))


def test_rows_of_hugging_face(sgd_model, rows, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(rows, **PLAIN), plain())


def test_columns_of_hugging_face(sgd_model, rows, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(rows["text"], rows["label"], **PLAIN), plain())


def test_rows_in_evaluate_and_predict(compiled, rows, texts, expected_loss, assert_close):
    assert_close(compiled.evaluate(rows, verbose=0)[0], expected_loss)
    assert_close(compiled.predict(rows["text"], verbose=0), compiled.predict(texts, verbose=0))


def test_sample_weight_of_rows(sgd_model, rows, by_hand, same_weights):
    sgd_model.fit(rows, sample_weight=WEIGHTS, **PLAIN)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


def test_splits_of_hugging_face(sgd_model, rows):
    with pytest.raises(ValueError, match=r"give y, or a dataset of \(text, label\)"):
        sgd_model.fit({"train": rows, "test": rows}, verbose=0)


def test_a_list_of_dicts(sgd_model, rows, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(list(rows), **PLAIN), plain())


def test_a_list_of_dicts_in_answer(compiled, rows, texts):
    found = [answer["label"] for answer in compiled.answer(list(rows))]
    assert found == [answer["label"] for answer in compiled.answer(texts)]


def test_records_of_a_table(sgd_model, df, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(df.to_dict("records"), **PLAIN), plain())


def test_tuples_of_a_table(sgd_model, df, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(df.itertuples(index=False), **PLAIN), plain())


def test_a_dict_of_columns(sgd_model, texts, labels):
    with pytest.raises(ValueError, match="give y"):
        sgd_model.fit({"text": texts, "label": labels}, verbose=0)


def test_a_list_of_texts_and_labels(sgd_model, texts, labels, plain, trained_as):
    examples = list(zip(texts, labels, strict=True))
    trained_as(sgd_model, sgd_model.fit(examples, **PLAIN), plain())


def test_a_list_of_texts_labels_and_weights(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(list(zip(texts, labels, WEIGHTS, strict=True)), **PLAIN)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


def test_a_list_of_texts_and_names(sgd_model, texts, names):
    with pytest.raises(ValueError, match="give y"):  # it is one of pairs of texts
        sgd_model.fit(list(zip(texts, names, strict=True)), verbose=0)


def test_a_list_of_dicts_and_y(sgd_model, rows, labels):
    with pytest.raises(ValueError, match="hold their labels: leave y out"):
        sgd_model.fit(list(rows), labels, verbose=0)


def test_a_dict_of_texts(sgd_model, texts, labels, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit({"text": texts}, labels, **PLAIN), plain())


def test_prepared_inputs(sgd_model, texts, labels, plain, trained_as):
    x = sgd_model.preprocessor(texts)
    trained_as(sgd_model, sgd_model.fit(x, np.array(labels), **PLAIN), plain())


def test_batches_of_the_model(sgd_model, texts, labels, plain, trained_as):
    batches = sgd_model.batches(texts, labels, batching=keras_bert.Batching(4, shuffle=False))
    trained_as(sgd_model, sgd_model.fit(batches, verbose=0), plain())


# Pairs, features and other tasks


SECOND = ["b", "c a", "d", "g", "a b", "k l", "m", "d"]


@pytest.fixture(scope="module")
def paired(compiled, texts_and_labels):
    texts, labels = texts_and_labels
    return compiled.evaluate(list(zip(texts, SECOND, strict=True)), labels, verbose=0)


@pytest.fixture(scope="module")
def texts_and_labels():
    from tests.habits.conftest import LABELS, TEXTS

    return TEXTS, LABELS


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
def featured_loss(featured, texts_and_labels):
    texts, labels = texts_and_labels
    return featured.evaluate({"text": texts, "features": FEATURES}, labels, verbose=0)


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
    answers = {"text": ["d"], "answer_start": [2]}
    with pytest.raises(ValueError, match="must be a list of dicts of 'text' and 'answer_start'"):
        reader_of_answers.fit([{**QUESTIONS[0], "answers": answers}], verbose=0)


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
