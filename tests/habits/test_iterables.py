"""Generators, loaders and data sets of rows."""

import keras
import numpy as np
import pytest

import keras_bert
from tests.habits.conftest import PLAIN, WEIGHTS

SGD = keras.optimizers.SGD


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
    with pytest.raises(ValueError, match=r"pass y, .* or a dataset of \(text, label\)"):
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


def test_a_dict_of_columns(sgd_model, texts, labels, plain, trained_as):
    history = sgd_model.fit({"text": texts, "label": labels}, **PLAIN)
    trained_as(sgd_model, history, plain())


def test_a_list_of_texts_and_labels(sgd_model, texts, labels, plain, trained_as):
    examples = list(zip(texts, labels, strict=True))
    trained_as(sgd_model, sgd_model.fit(examples, **PLAIN), plain())


def test_a_list_of_texts_labels_and_weights(sgd_model, texts, labels, by_hand, same_weights):
    sgd_model.fit(list(zip(texts, labels, WEIGHTS, strict=True)), **PLAIN)
    same_weights(sgd_model, by_hand(weights=WEIGHTS)[1])


def test_a_list_of_texts_and_names(sgd_model, texts, names):
    with pytest.raises(ValueError, match="pass y"):  # it is one of pairs of texts
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
