"""Each verb takes each form of each task's data, or refuses it, as docs/forms.md says."""

import re

import keras
import numpy as np
import pytest

from keras_bert import Batching
from keras_bert.data.data_of import data_of
from tests.marks import weekly
from tests.models.conftest import TASKS
from tests.pairs.examples import BatchList, rows_of

TEXTS, LABELS = ["a b c", "b b d", "a b a", "e c c d", "a a", "e d"], [1, 0, 0, 1, 0, 1]
CASES = [name for name, (_, x, *_) in TASKS.items() if x is not None]
OFTEN = ("classes",)  # the others are run weekly
EACH_CASE = [c if c in OFTEN else weekly(c) for c in CASES]
VERBS = "fit evaluate predict answer scores batches calibrate choose_threshold".split()
WITHOUT_LABELS = ("predict", "answer")
SCORED_BY_TEXTS = ("tags", "questions", "documents", "vectors")
# Of few examples, and of a task that has no such thing.
MEANINGLESS = "No temperature fits|has no probabilities|threshold needs 2 classes"


@pytest.fixture(scope="module")
def make_task(make_backbone, make_case, eager):
    """Makes the compiled task of a case."""

    def make(name):
        task = make_case(name, make_backbone())
        return eager(task, **({"loss": "mse", "optimizer": "sgd"} if name == "vectors" else {}))

    return make


def forms_of(task, case, with_labels=True):
    """Returns examples in each form: `(x,)`, `(x, y)` or `(x, y, weights)`."""
    datasets = pytest.importorskip("tensorflow").data.Dataset
    _, x, y, *_ = TASKS[case]
    [batch] = task.batches(x, y, batching=Batching(64, shuffle=False, pad_to="full"))
    batch = keras.tree.map_structure(np.asarray, batch)
    columns = (x,) if y is None else (x, y)
    rows = rows_of(x) if y is None else zip(rows_of(x), y, strict=True)
    if not with_labels:
        batch, columns, rows = batch[:1], (x,), rows_of(x)
    return {
        "RawExamples": columns,
        "RawStream": (iter(rows),),
        "InputArrays": batch,
        "InputDataset": (datasets.from_tensors(batch),),
        "InputBatches": (BatchList([batch]),),
    }


@pytest.mark.parametrize("case", EACH_CASE)
def test_a_verb_takes_a_form_or_says_what_to_give(case, make_task):
    task, refusing = make_task(case), set()
    for verb in (verb for verb in VERBS if hasattr(task, verb)):
        forms = forms_of(task, case, with_labels=verb not in WITHOUT_LABELS)
        for form, data in forms.items():
            options = {}
            if len(data) == 3 and verb in ("fit", "evaluate"):
                options["sample_weight"] = data[2]
            try:
                getattr(task, verb)(*data[:2], **options)
            except ValueError as error:
                if not re.search(MEANINGLESS, str(error)):
                    refusing.add((form, verb))
    needs_texts = {(form, "scores") for form in forms if form.startswith("Input")}
    assert refusing == (needs_texts if case in SCORED_BY_TEXTS else set())


@pytest.fixture(scope="module")
def model(make_task):
    return make_task("classes")


@pytest.fixture(scope="module")
def prepared(model):
    """All examples as one batch."""
    [batch] = model.batches(TEXTS, LABELS, batching=Batching(6, pad_to="full"))
    return batch


def test_the_door_looks_once_and_returns_the_class_of_the_form(model):
    for form, data in forms_of(model, "classes").items():
        assert type(data_of(model, *data)).__name__ == form
    # Examples in their one form pass again.
    data = data_of(model, {"text": np.array(TEXTS)}, LABELS)
    assert list(data.x) == TEXTS and data.x[1:3][1] == TEXTS[2] and data.count == 6
    first, last = data.split(0.5)
    assert list(first.x) + list(last.x) == TEXTS and last.y == LABELS[3:]
    assert model.answer(data.x) == model.answer(TEXTS)
    pairs = data_of(model, (TEXTS, TEXTS[::-1])).x
    assert list(pairs) == [*zip(TEXTS, TEXTS[::-1], strict=True)]


def test_scores_and_batches_of_prepared_batches_are_those_of_texts(model, refused):
    def batches(pad_to):
        return model.batches(TEXTS, LABELS, batching=Batching(2, shuffle=False, pad_to=pad_to))

    whole = batches("full")
    assert model.scores(whole) == model.scores(TEXTS, LABELS)
    [(inputs, labels)] = model.batches(whole, batching=Batching(6, shuffle=False))
    assert labels.tolist() == LABELS and len(inputs["token_ids"]) == 6
    alone = BatchList([inputs])
    assert model.scores(alone, LABELS) == model.scores(whole)
    refused("rows of different lengths", model.scores, batches("longest"))


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
    assert len(model.predict((b for b in [batch, batch]), steps=1)) == 6
