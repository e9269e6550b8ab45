"""A stream is the same data as a list: each argument of each verb means the same for both.

`FACTORS` are the levels of a `fit`. Each pair of levels meets in some run, but for those that are
refused (`REFUSED`), which are run one by one. Other verbs run with all of their levels, on a form
of each kind. Runs are compared by the batches of each epoch, each row with its label and weight.
"""

import dataclasses
import functools
import itertools

import keras
import numpy as np
import pandas as pd
import pytest

from keras_bert import Batching, BertClassifier
from keras_bert.training.keras_internals import build_from_batch
from tests.habits.conftest import LETTERS, Rows
from tests.marks import slow
from tests.pairs.covering import Covering
from tests.pairs.examples import BatchList, Iterable

RANDOM = np.random.default_rng(3)
TEXTS = {
    "whole": [" ".join(RANDOM.choice(LETTERS, n)) for n in RANDOM.integers(1, 7, 24)],
    "windows": [" ".join(RANDOM.choice(LETTERS, 10)) for row in range(24)],  # two windows each
}
LABELS = [row % 2 for row in range(24)]
WEIGHTS = [1.0 + row % 3 for row in range(24)]
LABELS[5] = 1  # so that classes differ in number

ONCE = ("generator", "iterator")
NAMED = ("data set of rows", "table")
ENDLESS = {"endless": "no end after 24", "tf.data without end": "no end: give"}
BATCHES = ("tf.data", "tf.data of batches", "PyDataset")
STREAMED = (*ONCE, "endless", "DataLoader", "loader", "grain", *BATCHES)
FORMS = ("list of rows", *NAMED, "grain of rows", *STREAMED)
FACTORS = {
    "form": FORMS,
    "texts": ("whole", "windows"),
    "weights": ("none", "sample_weight", "class_weight", "balanced"),
    "validation": ("none", "split", "all", "two steps"),
    "steps_per_epoch": (None, 2, 3),
    "epochs": ("three", "one", "two of three"),
    "batching": ("plain", "buckets", "tokens"),
    "model": ("new", "evaluated"),
}
REFUSED = [
    ({"form": ("endless",), "steps_per_epoch": (None,)}, "no end after 24"),
    ({"form": ("endless",), "validation": ("all",)}, "no end after 24"),
    (
        {
            "form": ONCE,
            "steps_per_epoch": (3,),
            "epochs": ("three",),
            "texts": ("whole",),
        },
        "has no more",
    ),
    ({"form": STREAMED, "validation": ("split",)}, "pass validation_data"),
    ({"form": STREAMED, "weights": ("balanced",)}, "counts the labels"),
]
# A pass of a list ends with what its buckets hold; that of a stream without end fills them.
OTHERS = {
    "form": ("endless",),
    "texts": ("whole",),
    "steps_per_epoch": (3,),
    "epochs": ("three",),
    "batching": ("buckets", "tokens"),
}
RUNS = list(Covering(FACTORS, [*(levels for levels, _ in REFUSED), OTHERS], seed=1))
SIMPLE = {name: levels[0] for name, levels in FACTORS.items()} | {"steps_per_epoch": 2}
BATCHINGS = {
    "plain": Batching(4, shuffle=False),
    "buckets": Batching(4, shuffle=False, bucket_lengths=(4, 8)),
    "tokens": Batching(4, shuffle=False, bucket_lengths=(4, 8), tokens_per_batch=24),
}
EPOCHS = {
    "three": {"epochs": 3},
    "one": {"epochs": 1},
    "two of three": {"epochs": 3, "initial_epoch": 1},
}
CLASS_WEIGHTS = {"class_weight": {"no": 2.0, "yes": 0.5}, "balanced": "balanced"}


class Endless:
    """Yields rows again and again, and counts them."""

    def __init__(self, rows):
        self.rows = itertools.cycle(rows)
        self.drawn = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.drawn += 1
        return next(self.rows)


def given(form, model, batching, texts, labels, weights=None):
    """Returns the arguments `(x, y, sample_weight)` of a form of data."""
    if form == "lists":
        return texts, labels, weights
    if form in NAMED:
        table = pd.DataFrame({"text": texts, "label": labels})
        return table if form == "table" else Rows(table.to_dict("records")), None, weights
    columns = [column for column in (texts, labels, weights) if column is not None]
    if form in MAKERS:
        return MAKERS[form](list(zip(*columns, strict=True))), None, None
    batches = list(model.batches(*columns, batching=batching))
    if form == "PyDataset":
        return BatchList(batches), None, None
    return dataset(form, columns, batches), None, None


def dataset(form, columns, batches):
    """Returns a `tf.data.Dataset` of texts, or of batches of prepared inputs."""
    data = pytest.importorskip("tensorflow").data.Dataset
    texts = data.from_tensor_slices(tuple(columns))
    if form != "tf.data of batches":
        return texts.repeat() if form in ENDLESS else texts

    def spec_of(array):
        spec = data.from_tensors(array).element_spec
        return type(spec)([None] * len(spec.shape), spec.dtype)

    specs = keras.tree.map_structure(spec_of, batches[0])
    return data.from_generator(lambda: iter(batches), output_signature=specs)


def torch_loader(rows):
    loading = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed")
    return loading.DataLoader(rows, batch_size=3)


def grain_source(rows):
    return pytest.importorskip("grain", reason="grain is not installed").MapDataset.source(rows)


MAKERS = {
    "list of rows": list,
    "generator": lambda rows: (row for row in rows),
    "iterator": iter,
    "endless": Endless,
    "loader": Iterable,
    "DataLoader": torch_loader,
    "grain": lambda rows: grain_source(rows).to_iter_dataset(),
    "grain of rows": grain_source,
}


class Steps(keras.callbacks.Callback):
    """Takes no steps, but keeps the batches of each epoch, in training and in validation."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append({"train": [], "test": []})

    def step(self, kind):
        def step(*arguments):  # on JAX, a state before the data
            *state, data = arguments
            self.epochs[-1][kind].append(rows_of_batch(data))
            logs = {"loss": keras.ops.zeros(())}
            return (logs, state[0]) if state else logs

        return step


def rows_of_batch(data):
    """Returns the rows of a batch, whatever its padding: token ids, labels and weights."""
    x, *targets = (part for part in keras.utils.unpack_x_y_sample_weight(data) if part is not None)
    columns = [keras.ops.convert_to_numpy(part).tolist() for part in (x["token_ids"], *targets)]
    columns[0] = [[token for token in row if token] for row in columns[0]]
    return list(zip(*columns, strict=True))


@pytest.fixture(scope="module")
def model_of(preset):
    """Compiles a classifier whose steps are kept; an evaluated one has its metrics built.

    It truncates texts, or reads them in windows.
    """
    models = {texts: BertClassifier.from_preset(preset) for texts in TEXTS}
    reader = models["windows"].preprocessor
    models["windows"].preprocessor = reader.like(reader, window_stride=4)

    def get(texts, state="new"):
        model = models[texts]
        model.stop_training = False
        model.compile("sgd", model.default_compile_args()["loss"], run_eagerly=True)
        if state == "evaluated":
            [batch] = model.batches(TEXTS[texts][:1], LABELS[:1])
            build_from_batch(model, batch)
        steps = Steps()
        model.train_step = steps.step("train")
        model.test_step = steps.step("test")
        return model, steps

    return get


@pytest.fixture(autouse=True)
def few_are_most(monkeypatch):
    """Ends the reading of streams without end soon; data sets are no longer than that."""
    monkeypatch.setattr("keras_bert.data.translators.MOST", 24)


def trained(model_of, run, form):
    """Returns the batches of the epochs of a run, and how many rows it drew without end."""
    model, steps = model_of(run["texts"], run["model"] if form != "lists" else "new")
    batching = BATCHINGS[run["batching"]]
    weights = WEIGHTS if run["weights"] == "sample_weight" else None
    columns = TEXTS[run["texts"]], LABELS, weights
    x, y, sample_weight = given(form, model, batching, *columns)
    streams = [x]
    options = {**EPOCHS[run["epochs"]], "steps_per_epoch": run["steps_per_epoch"]}
    options["class_weight"] = CLASS_WEIGHTS.get(run["weights"])
    if run["validation"] == "split":
        options["validation_split"] = 0.25
    elif run["validation"] != "none":
        data = given(form, model, Batching(4, shuffle=False), *columns)
        options["validation_data"] = data if form in ("lists", *NAMED) else data[0]
        streams.append(data[0])
    if run["validation"] == "two steps":
        options["validation_steps"] = 2
    options |= {"batching": batching, "callbacks": [steps], "verbose": 0}
    model.fit(x, y, sample_weight=sample_weight, **options)
    return steps.epochs, [data.drawn for data in streams if isinstance(data, Endless)]


FEW = [slice(2), slow(slice(2, None))]


@pytest.mark.parametrize("part", FEW, ids=["few", "others"])
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_trains_like_lists(form, part, model_of):
    for run in [run for run in RUNS if run["form"] == form][part]:
        epochs, drawn = trained(model_of, run, form)
        assert epochs == trained(model_of, run, "lists")[0], run
        if run["batching"] == "plain":  # others read whole chunks
            most = [len(epochs) * 4 * (run["steps_per_epoch"] or 0), 2 * 4]
            assert all(count <= limit for count, limit in zip(drawn, most, strict=False)), run


@pytest.mark.parametrize("form", STREAMED)
def test_what_a_stream_cannot_do_is_refused(form, model_of, refused):
    for levels, message in REFUSED:
        if form in levels["form"]:
            run = SIMPLE | {name: level for name, (level, *_) in levels.items()}
            refused(message, trained, model_of, run, form)


def test_an_epoch_of_lists_goes_on_with_the_next_rows(model_of):
    epochs, _ = trained(model_of, SIMPLE, "lists")
    rows = [sum(epoch["train"], []) for epoch in epochs]
    labels = [[label for _, label in epoch] for epoch in rows]
    assert labels == [LABELS[:8], LABELS[8:16], LABELS[16:]]


# What other verbs are asked: the verb, its steps, its batching.
ASKED = [("evaluate", *each) for each in itertools.product((None, 2), ("plain", "tokens"))]
ASKED += [("predict", None, "plain"), ("predict", 2, "plain")]
ASKED += [("answer", None, "plain"), ("scores", None, "plain")]
# Other forms end as these.
OF_EACH_KIND = (
    "table",
    "generator",
    *ENDLESS,
    "loader",
    "tf.data",
    "PyDataset",
)
CELLS = [(form, "whole") for form in OF_EACH_KIND]
CELLS += [("endless", "windows")]
CELLS += [slow("tf.data of batches", "whole")]
CELLS += [slow(form, "windows") for form in ("table", "generator", "loader", "tf.data")]


def said(model_of, form, texts, verb, steps, batching):
    """Returns what a verb makes of a form, in arrays, and how many rows it drew without end."""
    model, taken = model_of(texts)
    batching = BATCHINGS[batching]
    weights = WEIGHTS[:12] if verb == "evaluate" else None
    padded = dataclasses.replace(batching, pad_to="full") if verb == "scores" else batching
    x, y, sample_weight = given(form, model, padded, TEXTS[texts][:12], LABELS[:12], weights)
    drawn = getattr(x, "drawn", 0)
    if verb == "evaluate":
        taken.on_epoch_begin(0)
        options = {"batching": batching, "steps": steps, "verbose": 0}
        values = model.evaluate(x, y, sample_weight=sample_weight, **options)
        values = taken.epochs if texts == "whole" else values
    elif verb == "predict":
        values = model.predict(x, batch_size=4, verbose=0, steps=steps)
    elif verb == "answer":
        values = [answer["probabilities"] for answer in model.answer(x, batch_size=4)]
    else:
        values = model.scores(x, y, batch_size=4)
    return values, getattr(x, "drawn", 0) - drawn


@pytest.fixture(scope="module")
def said_of_lists(model_of):
    return functools.cache(lambda *asked: said(model_of, "lists", *asked)[0])


@pytest.mark.parametrize(("form", "texts"), CELLS)
def test_a_stream_is_evaluated_predicted_and_answered_like_lists(
    form, texts, model_of, said_of_lists, refused, assert_close
):
    for verb, steps, batching in ASKED:
        asked = texts, verb, steps, batching
        if texts == "windows" and batching == "tokens":
            continue  # whose windows are rows
        if form in ENDLESS and steps is None:
            reads_all = verb == "scores" or (verb, texts) == ("evaluate", "windows")
            if reads_all or form != "endless":  # others go on without end, as in Keras
                refused(ENDLESS[form], said, model_of, form, *asked)
            continue
        values, drawn = said(model_of, form, *asked)
        expected = said_of_lists(*asked)
        if verb == "evaluate" and texts == "whole":
            assert values == expected, asked
        else:
            assert_close(values, expected, sums=64, name=str(asked))
        if batching == "plain":  # others read whole chunks
            assert drawn <= 4 * (steps or 0), asked
