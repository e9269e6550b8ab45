"""Odd objects at the doors of every task: they work, or a ValueError says why not.

A failure prints its case number; `python -m tests.fuzz.test_arguments SEED NUMBER` repeats it.
"""

import datetime
import decimal
import itertools
import os
import sys
import time
import traceback
import types
import warnings

import keras
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")
pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
if keras.backend.backend() != "tensorflow":
    pytest.skip("one backend is enough for the doors", allow_module_level=True)

import keras_bert as kb
from tests.conftest import VOCABULARY
from tests.models.conftest import TASKS
from tests.models.test_doors import Batches

NAN, INF = float("nan"), float("inf")
IDS = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])
ANSWER = {"text": "d", "answer_start": 2}
QUESTION = {"id": "1", "question": "a b", "context": "c d e", "answers": [ANSWER]}
CHOICE = {"context": "a", "choices": ["b", "c d"], "label": 1}
slices = tf.data.Dataset.from_tensor_slices


class Odd:
    """An object that says of itself what isn't true."""

    shape = (2,)
    dtype = np.dtype("O")

    def __len__(self):
        return 2

    def __repr__(self):
        return "Odd()"


def scalars():
    return [
        *(None, NAN, INF, -INF, -1, 0, 1, 2, 3, 0.5, 1.0, 2**70, -(2**70), True, False, 1j),
        *("", "a", "no", "a b c", "\0", "\ud800", "a" * 300, b"a", b"\xff", "[MASK]", "1", "nan"),
        *(object(), len, Ellipsis, type, Odd(), decimal.Decimal(1), datetime.date(2020, 1, 1)),
        *(np.int64(1), np.float32(NAN), np.bool_(True), np.str_("a"), np.datetime64("2020"), 10**6),
    ]


def containers():
    return [
        *([], (), {}, set(), [[]], [()], ((),), [{}], {"text": []}, {"text": None}, {"a": "b"}),
        *([None], [NAN], [None, "a"], ["a", None], [NAN, "a"], ["a", 1], [1, "a"], ["a", ["b"]]),
        *([["a", "b"], ["c"]], [["a"], []], [("a", "b"), ("c", "d")], (["a"], ["b", "c"])),
        *([("a", "b", "c")], {"a", "b"}, ["\ud800", "a"], [b"\xff", "a"], ["a", "b"], ["", ""]),
        *((["a", "b"], ["c", "d"]), {"text": ["a", "b"]}, {"text": ["a"], "extra": [1]}, [[["a"]]]),
        *([0, 1], [1, 0], [0.5, 1], [NAN, 0], [-1, 0], [0, 2], [[0, 1], [1, 0]], [[0], [1]], [0]),
        *([True, False], ["0", "1"], ["no", "yes"], ["no", None], ["no", 3], [2**70, 0], [[0, 1]]),
        *(range(2), range(3), (x for x in ["a", "b"]), (x for x in [(IDS, [0, 1])]), iter("ab")),
        *({"token_ids": IDS}, {"token_ids": [[2, 3], [4]]}, {"token_ids": None}),
        *({"input_ids": IDS}, [QUESTION], QUESTION, [CHOICE], [QUESTION, None], [CHOICE, {}]),
        {**QUESTION, "context": 3},
        *([{**CHOICE, "choices": []}], [{**CHOICE, "choices": "ab"}], [{**CHOICE, "label": 7}]),
        *([{**QUESTION, "answers": None}], [{**QUESTION, "answers": [{"text": "d"}]}], {1: 2}),
        *([{**QUESTION, "answers": "d"}], [{**QUESTION, "answers": [{"answer_start": NAN}]}]),
        *([["O"], ["B-X", "O"]], [["O", "B-X"], ["O"]], [[0], [1]], [["a", None]], [["a", 3]]),
        *({"words": [["a"], ["b", "c"]]}, {"words": None}, {"words": [["a"]], "documents": [0, 1]}),
        *({"words": [["a"]], "documents": None}, {"words": ["ab"]}, {"words": [["a"]], "x": 3}),
    ]


def arrays():
    return [
        *(np.array([]), np.zeros((0, 2)), np.array("a"), np.array(["a", "b"]), np.array(3)),
        *(np.array([["a", "b"]]), np.arange(3), np.eye(2), np.array([NAN, 1]), np.array([1, 0])),
        *(np.array(["a", None], object), np.array([None, "a"], object), np.array([0.0, 1.0])),
        *(np.array([IDS, "a"], object), np.array([1j, 2]), np.array(["2020"], "datetime64[D]")),
        *(np.zeros(2, [("a", int)]), IDS, IDS.astype(float), IDS * NAN, IDS > 0, -IDS, IDS + 90),
        *(np.zeros((2, 20), int), np.zeros((1, 4), int), IDS[None], IDS[0], np.zeros((2, 0), int)),
        *map(tf.constant, (["a", "b"], "a", [0, 1])),
        *(tf.ragged.constant([[1]]), tf.ragged.constant([["a"], ["b", "c"]]), tf.sparse.eye(2)),
        tf.constant(IDS),
    ]


def datasets():
    return [
        *(slices(["a", "b"]), slices((["a", "b"], [0, 1])), slices((["a"], [0])).take(0)),
        *(slices((["a", "b"], [0, 1], [1.0, NAN])), slices((["a"], ["no"])), slices([1, 2])),
        *(slices((["a"], [label])) for label in ("x", 7, NAN, 0.5)),
        *(slices((["a", "b"], np.eye(2))), slices(({"token_ids": IDS}, [0, 1])).batch(2)),
        *(slices({"token_ids": IDS}), slices({"token_ids": IDS + 90}).batch(2)),
        *(slices({"input_ids": IDS}).batch(2), slices(({"token_ids": -IDS}, [0, 1])).batch(2)),
        *(slices({"token_ids": IDS, "padding_mask": IDS * NAN}).batch(2), slices(IDS).batch(2)),
        *(slices((["a", "b"], [0, 1], [1.0, 1.0], [0, 0])), slices(["a"]).batch(1).batch(1)),
        *(slices({"text": ["a"], "b": [1]}), slices({"b": ["a"]}), slices({"text": [3]})),
        *(Batches(np.array(["a"]), np.array([0])), Batches({"token_ids": IDS}, np.array([0, 1]))),
        *(Batches(), Batches(None), Batches({"token_ids": IDS + 90}, np.array([0, 1]))),
    ]


def odd(generator):
    kinds = (scalars, containers, containers, arrays, datasets)
    kind = kinds[generator.integers(len(kinds))]()
    value = kind[generator.integers(len(kind))]
    if generator.random() > 0.15:
        return value
    other = scalars()[generator.integers(len(scalars()))]
    name = ["text", "token_ids", "features", "padding_mask", "segment_ids"][generator.integers(5)]
    wrapped = [
        *([value, other], (value, other), [value, value], {name: value, "token_ids": IDS}),
        *({"text": value}, {"text": ["a", "b"], name: value}, [[value], [other]], {name: value}),
    ]
    return wrapped[generator.integers(len(wrapped))]


def doors():
    """Tasks with valid arguments of `fit`: `{name: (task, x, y)}`."""
    tokenizer = kb.BertTokenizer(VOCABULARY)
    encoder = kb.BertBackbone(30, 1, 2, 8, 8, max_sequence_length=16)
    found = {"bare": (kb.BertClassifier(encoder, 2), {"token_ids": IDS}, [0, 1])}
    for name, (kind, x, y, *_, settings, arguments) in TASKS.items():
        if x is not None:
            kind = getattr(kb, kind)
            reader = kind.preprocessor_class()(tokenizer, 12, **settings)
            found[name] = kind(encoder, preprocessor=reader, **arguments), x, y
    found["features"][0].adapt_features(TASKS["features"][1]["features"])
    for name, (task, *_) in found.items():
        if name != "vectors":
            arguments = {**task.default_compile_args(), "optimizer": keras.optimizers.SGD(0.0)}
            task.compile(**arguments, run_eagerly=True)
    return found


def called(found, generator):
    """A call with an odd object or two at a door, as `(description, function, is_dataset)`."""
    name = list(found)[generator.integers(len(found))]
    task, x, y = found[name]
    methods = ["predict", "answer", "fit", "evaluate", "batches", "scores"]
    method = methods[generator.integers(len(methods))]
    if name == "vectors" and method in ("fit", "evaluate"):
        method = "predict"
    arguments = {"x": x}
    if method not in ("predict", "answer"):
        arguments["y"] = y
    places = ["x", "x", *(["y"] if "y" in arguments else []), "batch_size"]
    places += ["sample_weight"] if method in ("fit", "evaluate", "batches") else []
    if method == "fit":
        places += ["validation_split", "validation_data", "accumulation_steps"]
        places += ["class_weight"] if isinstance(task, kb.BertClassifier) else []
    if method == "batches":
        places.remove("batch_size")
    if method in ("fit", "evaluate", "predict"):
        arguments["verbose"] = 0
    for _ in range(1 + generator.integers(2)):
        arguments[places[generator.integers(len(places))]] = odd(generator)
    shown = {key: value for key, value in arguments.items() if key != "verbose"}
    data = (arguments["x"], arguments.get("validation_data"))
    streams = (types.GeneratorType, keras.utils.PyDataset)
    is_stream = any(hasattr(part, "element_spec") or isinstance(part, streams) for part in data)
    call = lambda: checked(task, method, arguments, getattr(task, method)(**arguments))  # noqa: E731
    return f"{name}: {method}({shown})", call, is_stream


def checked(task, method, arguments, result):
    """Asserts that a result is no silently wrong one."""
    x = arguments["x"]
    if method == "batches":
        for batch in itertools.islice(result, 2):
            assert all(np.size(part) > 0 for part in tf.nest.flatten(batch))
        return
    if method == "fit":
        result = [value for values in result.history.values() for value in values]
        assert result, "nothing was trained on"
    for part in tf.nest.flatten(result):
        if not isinstance(part, (str, list)) and part is not None:
            assert np.isfinite(np.asarray(part, "float64")).all(), f"{result} is not finite"
    has_rows = isinstance(task, (kb.BertClassifier, kb.BertEmbedder, kb.BertMultipleChoice))
    if has_rows and method == "predict" and isinstance(x, list):
        rows = {len(part) for part in tf.nest.flatten(result)}
        assert rows == {len(x)}, f"{rows} rows for {len(x)} examples"


def fault(case):
    description, function, is_stream = case
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
    except UnicodeError as error:
        return f"{description}: a bare {error!r}"
    except ValueError:
        return None
    except tf.errors.InvalidArgumentError as error:
        return None if is_stream else f"{description}: {error!r}"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{description}: {error!r:.300} at {where.filename}:{where.lineno}"
    return None


def faults_of(seed, first, last, until=None):
    found = doors()
    keras.utils.set_random_seed(1)
    for number in range(first, last):
        if until and time.monotonic() > until:
            break
        wrong = fault(called(found, np.random.default_rng([seed, number])))
        if wrong:
            yield f"{number}: {wrong}"


def test_odd_objects_work_or_say_what_is_wrong():
    assert not list(faults_of(seed=1, first=0, last=60))


@pytest.mark.weekly
def test_thousands_of_odd_objects_work_or_say_what_is_wrong(share):
    until = time.monotonic() + share if share else None
    seed = int(os.environ.get("FUZZ_SEED", "2"))
    assert not list(faults_of(seed, first=0, last=10**9 if share else 5000, until=until))


if __name__ == "__main__":
    seed, *numbers = map(int, sys.argv[1:])
    for wrong in faults_of(seed, numbers[0], numbers[-1] + (len(numbers) == 1)):
        print(wrong, flush=True)
