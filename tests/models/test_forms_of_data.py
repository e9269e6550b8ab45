"""Each verb takes each form of each task's data, or refuses it, as docs/forms.md says."""

from itertools import chain

import numpy as np
import pytest

from keras_bert import Batching
from keras_bert.preprocessing.data_of import data_of
from keras_bert.preprocessing.translators import _LABELS, _TEXTS
from keras_bert.presets.formats.architectures import ARCHITECTURES
from keras_bert.presets.formats.hub import WEIGHTS
from tests.models.forms_of_data import (
    CASES,
    FORMS,
    PAGE,
    VERBS,
    Loader,
    all_said,
    cells_of_page,
    given,
    make_task,
    takes,
)

TEXTS, LABELS = ["a b c", "b b d", "a b a", "e c c d", "a a", "e d"], [1, 0, 0, 1, 0, 1]


OFTEN = ("classes", "tags", "questions", "pairs")  # the others are run weekly
EACH_CASE = [c if c in OFTEN else pytest.param(c, marks=pytest.mark.weekly) for c in CASES]


@pytest.mark.parametrize("case", EACH_CASE)
def test_a_verb_takes_a_form_or_says_what_to_give(case, tf):
    table = cells_of_page()
    assert table.keys() == {(form, verb) for form in FORMS for verb in VERBS}
    for cell, said in all_said(case).items():
        if said is not None:
            assert takes(table[cell], case) == (said == ""), (cell, said)


def test_the_page_has_all_names_and_files():
    page = PAGE.read_text()
    names = [*chain(*_TEXTS), *_LABELS, *ARCHITECTURES]
    names += [name for name in WEIGHTS if "index" not in name]
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.fixture(scope="module")
def model():
    return make_task("classes")


@pytest.fixture(scope="module")
def prepared(model):
    """All examples as one batch."""
    [batch] = model.batches(TEXTS, LABELS, batching=Batching(6, pad_to="full"))
    return batch


@pytest.mark.parametrize("form", FORMS)
def test_the_door_looks_once_and_returns_the_class_of_the_form(model, form, tf):
    data = data_of(model, *given(model, "classes", form, with_labels=True))
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


def test_scores_and_batches_of_prepared_batches_are_those_of_texts(model, refused):
    def batches(pad_to):
        return model.batches(TEXTS, LABELS, batching=Batching(2, shuffle=False, pad_to=pad_to))

    whole = batches("full")
    assert model.scores(whole) == model.scores(TEXTS, LABELS)
    [(inputs, labels)] = model.batches(whole, batching=Batching(6, shuffle=False))
    assert labels.tolist() == LABELS and len(inputs["token_ids"]) == 6
    alone = Loader(inputs)
    assert model.scores(alone, LABELS) == model.scores(whole)
    refused("rows of different lengths", model.scores, batches("longest"))
    refused("may have no end", model.scores, (batch for batch in whole))


def test_a_loader_of_pytorch_is_read_too(model, prepared, torch):
    inputs, labels = prepared
    rows = [({name: v[i] for name, v in inputs.items()}, labels[i]) for i in range(6)]
    loader = torch.utils.data.DataLoader(rows, batch_size=4)
    assert model.scores(loader) == model.scores(inputs, labels)


def test_a_collate_function_makes_batches_of_more_columns_than_a_batch_has(model, prepared, torch):
    inputs, labels = prepared
    rows = torch.utils.data.TensorDataset(*map(torch.tensor, [*inputs.values(), labels]))

    def collate(rows):
        *columns, labels = map(torch.stack, zip(*rows, strict=True))
        return dict(zip(inputs, columns, strict=True)), labels

    loader = torch.utils.data.DataLoader(rows, batch_size=4, collate_fn=collate)
    assert model.scores(loader) == model.scores(inputs, labels)


def test_further_columns_of_batches_are_dropped(model, prepared):
    inputs, labels = prepared
    batch = (inputs, labels, np.ones(6), "a name")
    assert len(model.predict((b for b in [batch, batch]), steps=1, verbose=0)) == 6
