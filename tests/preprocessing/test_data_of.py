"""Each verb takes each form of data, or refuses it, as the table in docs/design.md says."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertClassifier, BertClassifierPreprocessor
from keras_bert.preprocessing.data_of import data_of

TEXTS, LABELS = ["a b c", "b b d", "a b a", "e c c d", "a a", "e d"], [1, 0, 0, 1, 0, 1]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "design.md"


def rows_of_page():
    """Returns `(class, verb, whether the verb takes the form)` for each cell of the table."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| form | class |") :].split("\n\n")[0].splitlines()
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    for _, form, *cells in rows:
        for verbs, cell in zip(header[2:], cells, strict=True):
            for verb in verbs.split(", "):
                yield form.strip("`"), verb, cell == "yes"


class Loader(keras.utils.PyDataset):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.batch


@pytest.fixture(scope="module")
def model(make_backbone, letters):
    reader = BertClassifierPreprocessor(letters, sequence_length=12, label_names=["no", "yes"])
    model = BertClassifier(make_backbone(), 2, reader)
    model.compile(run_eagerly=True)
    return model


def given(model, form):
    """Returns the same examples in a form, `(x,)` or `(x, y)`."""
    if form == "RawExamples":
        return TEXTS, LABELS
    if form == "RawPasses":
        return (iter(list(zip(TEXTS, LABELS, strict=True))),)
    [batch] = model.batches(TEXTS, LABELS, batching=Batching(6, shuffle=False, pad_to="full"))
    batch = keras.tree.map_structure(np.asarray, batch)
    if form == "InputArrays":
        return batch
    if form == "InputBatches":
        return (Loader(batch),)
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    if form == "RawDataset":
        return (tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)),)
    return (tf.data.Dataset.from_tensors(batch),)


@pytest.mark.parametrize(("form", "verb", "is_taken"), [*rows_of_page()])
def test_a_verb_takes_a_form_or_says_what_to_give(model, form, verb, is_taken):
    data = given(model, form)
    data = data[:1] if verb in ("predict", "answer", "trim_vocabulary") else data
    try:
        getattr(model, verb)(*data)
    except ValueError as error:
        is_about_form = "temperature" not in str(error)  # of few examples there may be none
        assert not is_taken or not is_about_form, error
    else:
        assert is_taken, "not refused"


@pytest.mark.parametrize("form", sorted({form for form, *_ in rows_of_page()}))
def test_the_door_looks_once_and_returns_the_class_of_the_form(model, form):
    data = data_of(model, *given(model, form))
    assert type(data).__name__ == form


def test_examples_in_their_one_form_pass_the_door_again(model, assert_close):
    data = data_of(model, {"text": np.array(TEXTS)}, LABELS)
    assert list(data.x) == TEXTS and data.x[1:3][1] == TEXTS[2] and data.count == 6
    first, last = data.split(0.5)
    assert list(first.x) + list(last.x) == TEXTS and last.y == LABELS[3:]
    assert model.answer(data.x) == model.answer(TEXTS)
    assert_close(model.predict(last.x, verbose=0), model.predict(TEXTS[3:], verbose=0))
    pairs = data_of(model, (TEXTS, TEXTS[::-1])).x
    assert list(pairs) == [*zip(TEXTS, TEXTS[::-1], strict=True)]
