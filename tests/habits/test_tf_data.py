"""Datasets of `tf.data`, made in the ways in which users make them."""

import keras
import numpy as np
import pytest

from tests.habits.conftest import PLAIN, WEIGHTS

SGD = keras.optimizers.SGD


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
    with pytest.raises(ValueError, match=r"pass y, .* or a dataset of \(text, label\)"):
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
