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
LOSSES = ("pretrainer", "span_labeler", "embedder", "scored_embedder")  # `make pairs` splits others
PLAIN = {task: {"task": task, "total": 134} for task in LOSSES}  # the last 6 rows are no 4 parts
IN_PARTS = [  # Nearly all of the time is tracing.
    {**PLAIN["pretrainer"], "accumulation_steps": 2, "steps_per_execution": 3},
    {**PLAIN["span_labeler"], "accumulation_steps": 4},
    {**PLAIN["embedder"], "accumulation_steps": 4},
    {**PLAIN["scored_embedder"], "accumulation_steps": 2},
]
XLA = [{**settings, "jit_compile": True, "remat": True} for settings in IN_PARTS[:3]]
DROPOUT = {**PLAIN["pretrainer"], "dropout": 0.1, "repeats": True}

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
    one, [*two, dropped] = trained(backend, (1, [*PLAIN.values()]), (2, [*IN_PARTS, DROPOUT]))
    for settings, expected, actual in zip(IN_PARTS, one, two, strict=True):
        print(settings)  # for where it fails
        assert_equal(actual, expected)
    assert dropped["repeats"]
    with pytest.raises(AssertionError):  # it acts
        assert_equal(dropped, one[0])


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS)
def test_four_devices_parts_alone_and_xla_give_the_numbers_of_one_device(backend, trained):
    [one] = trained(backend, (1, [*PLAIN.values()]))
    for devices, all_settings in ((1, IN_PARTS), (4, IN_PARTS), (2, XLA)):
        if all_settings is XLA and backend != "tensorflow":
            continue
        [runs] = trained(backend, (devices, all_settings))
        for settings, expected, actual in zip(all_settings, one, runs, strict=False):
            print(devices, settings)  # for where it fails
            assert_equal(actual, expected)


def test_two_workers_give_the_numbers_of_one(tensorflow, two_workers, trained):
    workers = [(1, IN_PARTS[:1], environment) for environment in two_workers]
    [expected], *found = trained("tensorflow", (1, [PLAIN["pretrainer"]]), *workers)
    for [actual] in found:
        assert_equal(actual, expected)
