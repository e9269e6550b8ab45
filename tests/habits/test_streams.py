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
import pytest

import keras_bert
from keras_bert import Batching
from keras_bert.training.keras_internals import build_from_batch
from tests.habits.conftest import LETTERS, NAMES, Rows
from tests.pairs.covering import Covering

RANDOM = np.random.default_rng(3)
TEXTS = {
    "whole": [" ".join(RANDOM.choice(LETTERS, n)) for n in RANDOM.integers(1, 7, 24)],
    "windows": [" ".join(RANDOM.choice(LETTERS, 10)) for row in range(24)],  # two windows each
}
LABELS = [row % 2 for row in range(24)]
WEIGHTS = [1.0 + row % 3 for row in range(24)]
LABELS[5] = 1  # so that classes differ in number

ONCE = ("generator", "iterator")
LOADERS = ("DataLoader", "loader", "grain")
NAMED = ("data set of rows", "table")
STREAMS = (*ONCE, "endless", *LOADERS)
ROWS = ("list of rows", *NAMED, "grain of rows")
BATCHES = ("tf.data", "tf.data of batches", "PyDataset")
FORMS = (*ROWS, *STREAMS, *BATCHES)
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
STREAMED = (*STREAMS, *BATCHES)
REFUSED = [
    ({"form": ("endless",), "steps_per_epoch": (None,)}, "no end after 100"),
    ({"form": ("endless",), "validation": ("all",)}, "no end after 100"),
    (
        {"form": ONCE, "steps_per_epoch": (3,), "epochs": ("three",), "texts": ("whole",)},
        "has no more",
    ),
    ({"form": STREAMED, "validation": ("split",)}, "pass validation_data"),
    ({"form": STREAMED, "weights": ("balanced",)}, "counts the labels"),
]
BATCHINGS = {
    "plain": Batching(4, shuffle=False),
    "buckets": Batching(4, shuffle=False, bucket_lengths=(4, 8)),
    "tokens": Batching(4, shuffle=False, bucket_lengths=(4, 8), tokens_per_batch=24),
}
FIRST = 24  # runs, which meet three of four pairs; the others are slow
EPOCHS = {
    "three": {"epochs": 3},
    "one": {"epochs": 1},
    "two of three": {"epochs": 3, "initial_epoch": 1},
}


class Loader:
    """Yields the same rows in each pass."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


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


class BatchList(keras.utils.PyDataset):
    """Batches of prepared inputs, as a user's own class."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def streamed(form, model, batching, texts, labels=None, weights=None):
    """Returns the arguments `(x, y, sample_weight)` of a form of data."""
    columns = [column for column in (texts, labels, weights) if column is not None]
    rows = texts if labels is None else list(zip(*columns, strict=True))
    if form in NAMED:
        return named_rows(form, texts, labels), None, weights
    if form in BATCHES:
        return (batches_of(form, model, batching, columns),)
    return (MAKERS[form](rows),)


def named_rows(form, texts, labels):
    """Returns rows with names; texts alone are a column of them."""
    if form == "table":
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"text": texts, "label": labels or LABELS[: len(texts)]})
        return table["text"] if labels is None else table
    if labels is None:
        return Rows({"text": text} for text in texts)
    return Rows({"text": text, "label": label} for text, label in zip(texts, labels, strict=True))


def batches_of(form, model, batching, columns):
    """Returns texts as tensors, or batches of prepared inputs."""
    if form == "PyDataset":
        return BatchList(list(model.batches(*columns, batching=batching)))
    data = pytest.importorskip("tensorflow").data.Dataset
    if form == "tf.data":
        return data.from_tensor_slices(tuple(columns) if len(columns) > 1 else columns[0])
    batches = list(model.batches(*columns, batching=batching))

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
    "loader": Loader,
    "DataLoader": torch_loader,
    "grain": lambda rows: grain_source(rows).to_iter_dataset(),
    "grain of rows": grain_source,
}


@pytest.fixture(scope="module")
def models(make_encoder, tokenizer):
    """Two classifiers: one truncates texts, the other reads them in windows."""
    made = {}
    for texts, settings in (("whole", {}), ("windows", {"window_stride": 4})):
        reader = keras_bert.BertClassifierPreprocessor(tokenizer, 8, label_names=NAMES, **settings)
        model = keras_bert.BertClassifier(make_encoder(), preprocessor=reader, dropout=0.0)
        model.head.kernel.assign(np.random.default_rng(6).normal(0, 0.7, model.head.kernel.shape))
        made[texts] = model
    return made


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
def model_of(models):
    """Compiles a classifier whose steps are kept; an evaluated one has its metrics built."""

    def get(texts, state):
        model = models[texts]
        model.stop_training = False
        loss = model.default_compile_args()["loss"]
        model.compile("sgd", loss, run_eagerly=True)
        if state == "evaluated":
            [batch] = model.batches(TEXTS[texts][:1], LABELS[:1])
            build_from_batch(model, batch)
        steps = Steps()
        model.train_step = steps.step("train")
        model.test_step = steps.step("test")
        return model, steps

    return get


def columns_of(run):
    weights = WEIGHTS if run["weights"] == "sample_weight" else None
    return TEXTS[run["texts"]], LABELS, weights


def trained(model, steps, run, form):
    """Returns the batches of the epochs of a run, and how many rows it drew without end."""
    batching = BATCHINGS[run["batching"]]
    columns = columns_of(run)

    def given(batching=batching):
        return columns if form == "lists" else streamed(form, model, batching, *columns)

    options = {**EPOCHS[run["epochs"]], "steps_per_epoch": run["steps_per_epoch"]}
    if run["weights"] == "class_weight":
        options["class_weight"] = {"no": 2.0, "yes": 0.5}
    elif run["weights"] == "balanced":
        options["class_weight"] = "balanced"
    x, y, sample_weight = (*given(), None, None)[:3]
    streams = [x]
    if run["validation"] == "split":
        options["validation_split"] = 0.25
    elif run["validation"] != "none":
        data = given(Batching(batching.batch_size, shuffle=False))
        options["validation_data"] = data if len(data) > 1 else data[0]
        streams.append(data[0])
    if run["validation"] == "two steps":
        options["validation_steps"] = 2
    weights = {"sample_weight": sample_weight, "batching": batching, "callbacks": [steps]}
    model.fit(x, y, verbose=0, **weights, **options)
    return steps.epochs, [data.drawn for data in streams if isinstance(data, Endless)]


def runs():
    """Returns the runs of `fit`, with the messages of those that are refused."""
    covering = Covering(FACTORS, [levels for levels, _ in REFUSED], seed=1)
    params = [
        pytest.param(run, None, id=name_of(run), marks=[pytest.mark.slow] * (number >= FIRST))
        for number, run in enumerate(covering)
    ]
    plain = {name: levels[0] for name, levels in FACTORS.items()}
    for levels, message in REFUSED:
        for chosen in itertools.product(*levels.values()):
            run = {**plain, **dict(zip(levels, chosen, strict=True))}
            if run["form"] == "endless" and "steps_per_epoch" not in levels:
                run["steps_per_epoch"] = 2
            params.append(pytest.param(run, message, id=f"refused {name_of(run)}"))
    return params


def name_of(run):
    return ", ".join(str(level) for level in run.values())


@pytest.fixture(scope="module")
def expected(model_of):
    """The batches of a run on lists."""
    batches = {}

    def of(run):
        name = name_of({**run, "form": "lists", "model": "new"})
        if name not in batches:
            batches[name], _ = trained(*model_of(run["texts"], "new"), run, "lists")
        return batches[name]

    return of


@pytest.fixture(autouse=True)
def few_are_most(monkeypatch):
    """Ends the reading of streams without end soon."""
    monkeypatch.setattr("keras_bert.preprocessing.translators.MOST", 100)


@pytest.mark.parametrize(("run", "message"), runs())
def test_a_stream_trains_like_lists(run, message, model_of, expected, refused):
    model, steps = model_of(run["texts"], run["model"])
    if message is not None:
        refused(message, trained, model, steps, run, run["form"])
        return
    batches, drawn = trained(model, steps, run, run["form"])
    assert batches == expected(run)
    if run["batching"] == "plain":  # others read whole chunks
        epochs = EPOCHS[run["epochs"]]
        passes = epochs["epochs"] - epochs.get("initial_epoch", 0)
        most = [passes * BATCHINGS["plain"].num_rows(run["steps_per_epoch"] or 0), 2 * 4]
        assert all(count <= limit for count, limit in zip(drawn, most, strict=False))


def test_an_epoch_of_lists_goes_on_with_the_next_rows(expected):
    run = {name: levels[0] for name, levels in FACTORS.items()} | {"steps_per_epoch": 2}
    epochs = [sum(epoch["train"], []) for epoch in expected(run)]
    labels = [[label for _, label, *_ in epoch] for epoch in epochs]
    assert labels == [LABELS[:8], LABELS[8:16], LABELS[16:]]


# What other verbs are asked: the verb, its steps, its batching.
ASKED = [("evaluate", *each) for each in itertools.product((None, 2), ("plain", "tokens"))]
ASKED += [("predict", None, "plain"), ("predict", 2, "plain")]
ASKED += [("answer", None, "plain"), ("scores", None, "plain")]
OF_EACH_KIND = ("table", "generator", "endless", "loader", *BATCHES)  # other forms end as these


def cells():
    """Yields the forms of each kind with all that verbs are asked."""
    for form, texts, asked in itertools.product(OF_EACH_KIND, TEXTS, ASKED):
        verb, steps, batching = asked
        marks = []
        if texts == "windows":
            if form in BATCHES[1:] or batching == "tokens":
                continue  # whose windows are rows
            marks = [pytest.mark.slow] * (form not in ("generator", "endless"))
        reads_all = verb == "scores" or (verb, texts) == ("evaluate", "windows")
        if form != "endless" or steps or reads_all:  # others go on without end, as in Keras
            yield pytest.param(form, texts, *asked, marks=marks)


def said(model_of, form, texts, verb, steps, batching):
    """Returns what a verb makes of a form, in arrays, and how many rows it drew without end."""
    model, taken = model_of(texts, "new")
    batching = BATCHINGS[batching]
    columns = [TEXTS[texts][:12]]
    if verb in ("evaluate", "scores"):
        columns.append(LABELS[:12])
    if verb == "evaluate":
        columns.append(WEIGHTS[:12])
    padded = dataclasses.replace(batching, pad_to="full") if verb == "scores" else batching
    given = columns if form == "lists" else streamed(form, model, padded, *columns)
    x, y, sample_weight = (*given, None, None)[:3]
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


@pytest.mark.parametrize(("form", "texts", "verb", "steps", "batching"), cells())
def test_a_stream_is_evaluated_predicted_and_answered_like_lists(
    form, texts, verb, steps, batching, model_of, said_of_lists, refused, assert_close
):
    asked = texts, verb, steps, batching
    if form == "endless" and steps is None:
        refused("no end after 100", said, model_of, form, *asked)
        return
    values, drawn = said(model_of, form, *asked)
    expected = said_of_lists(*asked)
    if verb == "evaluate" and texts == "whole":
        assert values == expected
    else:
        assert_close(values, expected, sums=64)
    if batching == "plain":  # others read whole chunks
        assert drawn <= 4 * (steps or 0)
