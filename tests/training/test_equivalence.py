"""One truth: the same numbers on 1, 2 and 4 devices, with batches in 1, 2 and 4 parts.

`equivalence.py` trains 20 steps of AdamW, clipped at a norm that bites, with padding, weights and
prediction slots spread unevenly over the rows, in a process for each number of devices.
"""

import importlib.util
import itertools
import json
import os
import subprocess
import sys
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
    "pretrainer": {"task": "pretrainer"},
    "causal_pretrainer": {"task": "causal_pretrainer"},
    "classifier": {"task": "classifier", "total": 132},  # the last batch has 4 rows of 16
    "span_labeler": {"task": "span_labeler", "total": 134},  # 6 rows, which 4 parts don't divide
    "token_classifier": {"task": "token_classifier"},
    "embedder": {"task": "embedder", "total": 134},
    "reranker": {"task": "reranker", "total": 134},
    "distiller": {"task": "distiller", "total": 134},
}
IN_FOUR_PARTS = [
    {"task": "pretrainer", "accumulation_steps": 4},
    {"task": "span_labeler", "total": 134, "accumulation_steps": 4, "steps_per_execution": 4},
    {"task": "embedder", "total": 134, "accumulation_steps": 4},
    {"task": "causal_pretrainer", "accumulation_steps": 4},
    {"task": "distiller", "total": 134, "accumulation_steps": 4, "steps_per_execution": 3},
]
SPLIT = [
    {"task": "pretrainer", "accumulation_steps": 2, "steps_per_execution": 5},
    {"task": "classifier", "total": 132, "accumulation_steps": 2, "steps_per_execution": 3},
    {"task": "token_classifier", "accumulation_steps": 2},
    {"task": "embedder", "total": 134, "steps_per_execution": 3},
    {"task": "reranker", "total": 134, "accumulation_steps": 2},
    *IN_FOUR_PARTS,
]
IN_MORE_PARTS = [
    {"task": "classifier", "total": 132, "accumulation_steps": 4},
    {"task": "span_labeler", "total": 134, "accumulation_steps": 2},
    {"task": "token_classifier", "accumulation_steps": 4, "remat": True},
    {"task": "embedder", "total": 134, "accumulation_steps": 2},
]
PADDED = [
    {"task": f"padded_{task}", "rows": 32, "total": total, "shuffle": False}
    for task, total in (("pretrainer", 640), ("classifier", 648))
]
PACKED = [
    {**settings, "shuffle": False, "accumulation_steps": parts, "remat": parts > 1}
    for settings in (
        {"task": "packed_pretrainer", "total": 320},
        {"task": "packed_classifier", "total": 328},
    )
    for parts in (1, 2)
]
KERNEL = {"task": "kernel_pretrainer", "rows": 8, "total": 32}
WITH_KERNEL = [
    {**KERNEL, "kernel": True, "accumulation_steps": 2, "remat": True},
    {**KERNEL, "kernel": True, "dropout": 0.1},
]
XLA = [
    {"task": "pretrainer", "jit_compile": True, "accumulation_steps": 2},
    {"task": "classifier", "total": 132, "jit_compile": True, "remat": True},
    {"task": "embedder", "total": 134, "jit_compile": True},
]
DROPOUT = {"task": "pretrainer", "dropout": 0.1}
BESIDE = [  # what is used together with several devices, and how far numbers may be apart
    ({"task": "classifier", "total": 68, "use_ema": True, "reload": True}, 1e-5),
    ({"task": "classifier", "total": 68, "lora_rank": 2}, 1e-5),
    ({"task": "classifier", "total": 68, "policy": "mixed_bfloat16"}, 1e-3),
]
SETTINGS = {  # by the number of devices
    1: [*PLAIN.values(), *IN_FOUR_PARTS],
    2: [PLAIN["pretrainer"], *SPLIT],
    4: [PLAIN["pretrainer"], IN_FOUR_PARTS[0], *IN_MORE_PARTS],
}

pytestmark = pytest.mark.slow


def trained(backend, devices, settings):
    names = list(map(json.dumps, settings))
    return finished(start(backend, devices, *names), names)


def start(backend, devices, *settings, **environment):
    command = [sys.executable, str(SCRIPT), backend, str(devices), *settings]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", **FAST, **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)


def all_finished(processes, names):
    """What each process printed; they are read at once, so that none waits for that."""
    try:
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda process: finished(process, names), processes))
    finally:
        for process in processes:
            process.kill()


def finished(process, names):
    output, errors = process.communicate(timeout=1200)
    assert process.returncode == 0, errors[-3000:]
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return dict(zip(names, map(json.loads, lines), strict=True))


def assert_equal(actual, expected, atol=1e-5):
    """Weights, losses and outputs are of the size of 1; a step moves weights by up to its rate."""
    assert actual["steps"] == expected["steps"] and actual["rows"] == expected["rows"]
    for part in ("logs", "scores"):
        assert actual[part] == pytest.approx(expected[part], rel=0, abs=atol), part
    for (path, a), b in zip(actual["weights"].items(), expected["weights"].values(), strict=True):
        np.testing.assert_allclose(a, b, atol=atol, err_msg=path)
    for a, b in itertools.zip_longest(actual["predicted"], expected["predicted"]):
        np.testing.assert_allclose(a, b, atol=atol)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_devices_and_parts_give_the_numbers_of_one_device(backend):
    tasks = ("pretrainer", "span_labeler", "embedder", "causal_pretrainer", "distiller")
    plain = [json.dumps(PLAIN[task]) for task in tasks]
    split = [json.dumps(settings) for settings in (SPLIT[0], *IN_FOUR_PARTS[1:])]
    expected, actual = all_finished([start(backend, 1, *plain), start(backend, 2, *split)], split)
    for name in split:
        print(name)  # for where it fails
        assert_equal(actual[name], expected[name])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_growing_batch_gives_the_numbers_of_one_device(backend):
    """Batches of 4, 8 and 16 rows in one run; each is traced once, and the first perhaps again."""
    stages = {
        1: [[4, 1], [8, 1], [16, 1]],
        2: [[4, 1], [8, 2], [16, 4]],
        4: [[4, 1], [8, 1], [16, 2]],
    }
    settings = {"task": "pretrainer", "total": 96}
    processes = [start(backend, n, json.dumps({**settings, "growing": stages[n]})) for n in stages]
    runs = [run["growing"] for run in all_finished(processes, ["growing"])]
    for devices, run in zip(stages, runs, strict=True):
        assert_equal(run, runs[0])
        assert run["steps"] == 8 + 4 + 2
        assert run["traces"] <= 3 * (devices if backend == "tensorflow" else 1) + 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_packed_rows_give_the_numbers_of_padded_ones(backend):
    padded = {json.loads(name)["task"]: run for name, run in trained(backend, 1, PADDED).items()}
    names = list(map(json.dumps, PACKED))
    for found in all_finished([start(backend, n, *names) for n in (1, 2, 4)], names):
        for name in names:
            print(name)  # for where it fails
            expected = padded[json.loads(name)["task"].replace("packed", "padded")]
            assert_equal(found[name], expected)


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_the_attention_of_tpus_gives_the_numbers_of_the_plain_one(backend):
    """On one device and on four; with dropout, too, the numbers of devices give the same."""
    whole, dropped = names = list(map(json.dumps, WITH_KERNEL))
    runs = start(backend, 1, json.dumps(KERNEL), *names), start(backend, 4, *names)
    one, four = zip(runs, (["plain", *names], names), strict=True)
    one, four = finished(*one), finished(*four)
    for found in (one, four):
        assert_equal(found[whole], one["plain"])
    assert_equal(four[dropped], one[dropped])
    assert one[dropped]["logs"]["loss"] != pytest.approx(one["plain"]["logs"]["loss"], abs=1e-5)


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS)
def test_any_split_gives_the_numbers_of_none(backend):
    plain = trained(backend, 1, SETTINGS[1])
    expected = {task: plain[json.dumps(settings)] for task, settings in PLAIN.items()}
    of_one = {name: run for name, run in plain.items() if run not in expected.values()}
    more = SETTINGS[2] + (XLA if backend == "tensorflow" else [])
    for runs in (of_one, trained(backend, 2, more), trained(backend, 4, SETTINGS[4])):
        for settings, actual in runs.items():
            print(settings)  # for where it fails
            assert_equal(actual, expected[json.loads(settings)["task"]])


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS[:1])
def test_averages_lora_precision_and_loading_work_on_two_devices(backend):
    names = [json.dumps(settings) for settings, _ in BESIDE]
    expected, found = all_finished([start(backend, n, *names) for n in (1, 2)], names)
    for name, (_, atol) in zip(names, BESIDE, strict=True):
        print(name)
        assert_equal(found[name], expected[name], atol)


def test_two_workers_give_the_numbers_of_one(tensorflow, free_addresses):
    settings = [PLAIN["classifier"], SPLIT[0]]
    names = list(map(json.dumps, settings))
    one = start("tensorflow", 1, *names)
    cluster, workers = {"worker": free_addresses(2)}, []
    for index in range(2):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        workers.append(start("tensorflow", 1, *names, TF_CONFIG=config))
    expected, *found = all_finished([one, *workers], names)
    for run in found:
        for name in names:
            assert_equal(run[name], expected[name])


@pytest.mark.parametrize("backend", BACKENDS)
def test_with_dropout_a_run_repeats_with_its_seed(assert_close, backend):
    settings = [json.dumps(DROPOUT), json.dumps(PLAIN["pretrainer"])]
    runs = finished(start(backend, 2, settings[0], *settings), ["first", "again", "plain"])
    assert_equal(runs["again"], runs["first"], atol=0.0)
    with pytest.raises(AssertionError, match="Not equal"):  # it acts
        for path, values in runs["plain"]["weights"].items():
            assert_close(runs["again"]["weights"][path], values)
