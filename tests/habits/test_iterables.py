"""Generators, loaders and data sets of rows."""

import keras
import numpy as np
import pytest

import keras_bert
from tests.habits.conftest import LABELS, PLAIN, TEXTS, WEIGHTS


@pytest.fixture
def examples():
    return list(zip(TEXTS, LABELS, strict=True))


def batches_of_arrays():
    for start in (0, 4):
        rows = slice(start, start + 4)
        yield np.array(TEXTS[rows]), np.array(LABELS[rows])


def test_generators_are_read_as_lists(examples, df, reads_as_lists):
    reads_as_lists(example for example in examples)
    reads_as_lists(df.itertuples(index=False))


def test_a_generator_of_batches(sgd_model, plain, trained_as):
    trained_as(sgd_model, sgd_model.fit(batches_of_arrays(), **PLAIN), plain())


def test_a_data_loader_of_a_dataset_class(torch, texts, labels, reads_as_lists):
    class Reviews(torch.utils.data.Dataset):
        def __len__(self):
            return len(texts)

        def __getitem__(self, index):
            return {"text": texts[index], "label": torch.tensor(labels[index])}

    reads_as_lists(torch.utils.data.DataLoader(Reviews(), batch_size=2))


def test_rows_of_hugging_face(sgd_model, rows, plain, trained_as, reads_as_lists):
    trained_as(sgd_model, sgd_model.fit(rows, **PLAIN), plain())
    reads_as_lists(rows["text"], rows["label"])
    reads_as_lists(list(rows))
    reads_as_lists(iter(rows), None, WEIGHTS, weights=WEIGHTS)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [*batches_of_arrays()][index]


def test_batches_of_texts_in_a_pydataset(reads_as_lists):
    reads_as_lists(Batches())


def test_what_cannot_be_iterated_is_refused(sgd_model, texts, labels, examples, refused):
    lists = ((texts[part], labels[part]) for part in (slice(4), slice(4, 8)))
    refused("Batches of a generator are arrays", sgd_model.fit, lists)
    refused("takes raw examples", sgd_model.fit, batches_of_arrays)  # isn't called


def test_labels_and_weights_are_given_once(sgd_model, torch, examples, rows, refused):
    loader = torch.utils.data.DataLoader(examples, batch_size=4)
    for column in ({"y": LABELS}, {"sample_weight": WEIGHTS}):  # a loader may shuffle
        refused(r"yield \(text, label\).*leave y", sgd_model.fit, loader, **column)
    refused("hold their labels: leave y out", sgd_model.fit, list(rows), LABELS)


def test_rows_whose_labels_are_not_known_are_refused(sgd_model, rows, texts, names, refused):
    splits = {"train": rows, "test": rows}
    refused(r"pass y, .* or a dataset of \(text, label\)", sgd_model.fit, splits)
    pairs = list(zip(texts, names, strict=True))  # of texts, it seems
    refused("pass y", sgd_model.fit, pairs)


def test_prepared_inputs_and_batches_of_the_model(sgd_model, texts, labels, plain, trained_as):
    start = sgd_model.get_weights()
    x = sgd_model.preprocessor(texts)
    trained_as(sgd_model, sgd_model.fit(x, np.array(labels), **PLAIN), plain())
    sgd_model.set_weights(start)
    batches = sgd_model.batches(texts, labels, batching=keras_bert.Batching(4, shuffle=False))
    trained_as(sgd_model, sgd_model.fit(batches, verbose=0), plain())
