"""One truth: the same numbers on 1, 2 and 4 devices, with batches in 1, 2 and 4 parts.

`equivalence.py` trains 20 steps of AdamW, clipped at a norm that bites, with padding, weights and
prediction slots spread unevenly over the rows, in a process for each number of devices.
"""

import importlib.util
import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("equivalence.py")
FAST = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # JAX compiles more than it computes here
IS_THERE = {name: importlib.util.find_spec(name) for name in ("tensorflow", "jax")}
BACKENDS = [
    pytest.param(name, marks=pytest.mark.skipif(not spec, reason='pip install ".[parity]"'))
    for name, spec in IS_THERE.items()
]
PLAIN = {
    "pretrainer": {"task": "pretrainer", "total": 134},
    "classifier": {"task": "classifier", "total": 132},  # the last batch has 4 rows of 16
    "span_labeler": {"task": "span_labeler", "total": 134},  # 6 rows, which 4 parts don't divide
    "token_classifier": {"task": "token_classifier", "total": 134},
    "embedder": {"task": "embedder", "total": 134},
    "scored_embedder": {"task": "scored_embedder", "total": 134},
}
IN_FOUR_PARTS = [
    {"task": "pretrainer", "total": 134, "accumulation_steps": 4},
    {"task": "span_labeler", "total": 134, "accumulation_steps": 4, "steps_per_execution": 4},
    {"task": "embedder", "total": 134, "accumulation_steps": 4},
    {"task": "scored_embedder", "total": 134, "accumulation_steps": 2},
]
SPLIT = [
    {"task": "pretrainer", "total": 134, "accumulation_steps": 2, "steps_per_execution": 3},
    {"task": "classifier", "total": 132, "accumulation_steps": 2, "steps_per_execution": 3},
    {"task": "token_classifier", "total": 134, "accumulation_steps": 2},
    {"task": "embedder", "total": 134, "steps_per_execution": 3},
    *IN_FOUR_PARTS,
]
OF_EACH_CHANGE = [  # each loss; the others are split weekly. Nearly all of the time is tracing.
    SPLIT[0],
    {"task": "span_labeler", "total": 134, "accumulation_steps": 4},
    {"task": "embedder", "total": 134, "accumulation_steps": 4},
    {"task": "scored_embedder", "accumulation_steps": 2},
]
PADDED = {"task": "padded_pretrainer", "rows": 32, "total": 640, "shuffle": False}
PACKED = [
    {
        "task": "packed_pretrainer",
        "total": 320,
        "shuffle": False,
        "accumulation_steps": parts,
        "remat": parts > 1,
    }
    for parts in (1, 2)
]
XLA = [
    {"task": "pretrainer", "total": 134, "jit_compile": True, "accumulation_steps": 2},
    {"task": "classifier", "total": 132, "jit_compile": True, "remat": True},
    {"task": "embedder", "total": 134, "jit_compile": True},
]
DROPOUT = {"task": "pretrainer", "total": 134, "dropout": 0.1, "repeats": True}
SETTINGS = {  # by the number of devices
    1: [*PLAIN.values(), *IN_FOUR_PARTS],
    2: [PLAIN["pretrainer"], *SPLIT],
    4: [PLAIN["pretrainer"], IN_FOUR_PARTS[0]],
}

pytestmark = pytest.mark.slow


@pytest.fixture
def trained(run_python):
    """A function that trains in processes at once, of a number of devices, settings, environment.

    It gives what each printed: a list with a dict for each of its settings.
    """

    def call(backend, *runs):
        def run(devices, settings, environment=FAST):
            command = [SCRIPT, backend, devices, *map(json.dumps, settings)]
            said = run_python(*command, **{**FAST, **environment})
            found = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
            assert len(found) == len(settings)
            return found

        with ThreadPoolExecutor() as pool:
            return [*pool.map(lambda each: run(*each), runs)]

    return call


def assert_equal(actual, expected):
    """Weights, losses and outputs are of the size of 1; a step moves weights by up to its rate."""
    atol = 1e-5
    assert actual["steps"] == expected["steps"] and actual["rows"] == expected["rows"]
    for part in ("logs", "scores"):
        assert actual[part] == pytest.approx(expected[part], rel=0, abs=atol), part
    for (path, a), b in zip(actual["weights"].items(), expected["weights"].values(), strict=True):
        np.testing.assert_allclose(a, b, atol=atol, err_msg=path)
    for a, b in itertools.zip_longest(actual["predicted"], expected["predicted"]):
        np.testing.assert_allclose(a, b, atol=atol)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_devices_and_parts_give_the_numbers_of_one_device(backend, trained):
    """With dropout, a run on two devices repeats with its seeds."""
    plain = [
        {name: value for name, value in settings.items() if name in ("task", "total")}
        for settings in OF_EACH_CHANGE
    ]
    one, [*two, dropped] = trained(backend, (1, plain), (2, [*OF_EACH_CHANGE, DROPOUT]))
    for settings, expected, actual in zip(OF_EACH_CHANGE, one, two, strict=True):
        print(settings)  # for where it fails
        assert_equal(actual, expected)
    assert dropped["repeats"]
    with pytest.raises(AssertionError):  # it acts
        assert_equal(dropped, one[0])


DEVICES = [2, pytest.param(1, marks=pytest.mark.weekly), pytest.param(4, marks=pytest.mark.weekly)]


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_packed_rows_give_the_numbers_of_padded_ones(backend, devices, trained):
    [padded], packed = trained(backend, (1, [PADDED]), (devices, PACKED))
    for settings, found in zip(PACKED, packed, strict=True):
        print(settings)  # for where it fails
        assert_equal(found, padded)


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS)
def test_any_split_gives_the_numbers_of_none(backend, trained):
    expected = None
    for devices, settings in SETTINGS.items():
        settings = settings + XLA if (devices, backend) == (2, "tensorflow") else settings
        [runs] = trained(backend, (devices, settings))
        expected = expected or dict(zip(PLAIN, runs, strict=False))
        for each, actual in zip(settings, runs, strict=True):
            print(each)  # for where it fails
            assert_equal(actual, expected[each["task"]])


def test_two_workers_give_the_numbers_of_one(tensorflow, free_addresses, trained):
    plain = {"task": "pretrainer", "total": 134}
    split = {**plain, "accumulation_steps": 2, "steps_per_execution": 3}
    cluster, workers = {"worker": free_addresses(2)}, []
    for index in range(2):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        workers.append((1, [split], {"TF_CONFIG": config}))
    [expected], *found = trained("tensorflow", (1, [plain]), *workers)
    for [actual] in found:
        assert_equal(actual, expected)
