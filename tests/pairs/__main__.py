"""Runs a covering array: every pair of levels of all factors on each backend, or its refusal.

    python -m tests.pairs --seed 1 --backends tensorflow jax torch
    python -m tests.pairs --backends tensorflow --levels devices=two task=tags --first 3 --eagerly

Results are lines of JSON in build/pairs. Rerun to resume, and to repeat what failed.
"""

import argparse
import collections
import itertools
import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tests.gates import ROOT
from tests.pairs.covering import Covering, matches
from tests.pairs.factors import PLAIN, factors_of
from tests.pairs.refused import REFUSED, forbidden
from tests.pairs.worker import outcome, prepare

BACKENDS = ("tensorflow", "jax", "torch")
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # Compiling takes most of the time.
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true",
    "JAX_COMPILATION_CACHE_DIR": str(ROOT / "build" / "pairs" / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
LONGEST, MOST = 600, 50  # seconds of a run on a busy machine, and runs of a process


class Worker:
    """A process that runs what it is given; it is replaced if it dies or takes too long."""

    def __init__(self, eagerly):
        self.eagerly = eagerly
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        options = {"initargs": (self.eagerly,), "max_tasks_per_child": MOST}
        self.pool = ProcessPoolExecutor(1, context, prepare, **options)

    def outcome(self, task):
        try:
            return self.pool.submit(outcome, task).result(LONGEST)
        except (BrokenProcessPool, TimeoutError) as error:
            self.stop()
            self.start()
            return {"status": "failed", "error": repr(error), "seconds": LONGEST}

    def stop(self):
        for process in (self.pool._processes or {}).values():
            process.kill()
        self.pool.shutdown(cancel_futures=True)


def refusal_tasks(backend, factors, covering):
    """The runs that must be refused: each refusal with a message once for each pair of levels."""
    for refusal in REFUSED:
        if refusal.message is None or backend not in refusal.backends:
            continue
        names = list(refusal.levels)
        for levels in itertools.product(*refusal.levels.values()):
            part = dict(zip(names, levels, strict=True))
            if any(level not in factors[name] for name, level in part.items()):
                continue
            allowed = [r for r in covering.forbidden if not matches(part, r)]
            run = Covering(factors, allowed, 1).complete(
                part, lambda run, name, level: level == PLAIN.get(name)
            )
            if run is not None:
                yield {"run": run, "match": refusal.message}


def report(backend, number, results, impossible):
    """Prints what came of the runs; returns the number of failures."""
    failures = [result for result in results if result["status"] == "failed"]
    print(
        f"{backend}: run {len(results)} of {number}, failed {len(failures)}, "
        f"neither run nor listed {len(impossible)}",
        flush=True,
    )
    for error, times in collections.Counter(r["error"][:150] for r in failures).most_common(40):
        print(f"  {times} x {error}")
    for pair in sorted(impossible, key=str):
        print("  in no list:", pair)
    return len(failures) + len(impossible) + (not results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backends", nargs="+", default=BACKENDS, choices=BACKENDS)
    parser.add_argument("--levels", nargs="+", default=[], help="only these levels of some factors")
    parser.add_argument("--first", type=int, help="run only so many of each backend")
    parser.add_argument("--eagerly", action="store_true", help="trace nothing, on TensorFlow")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pairs")
    arguments = parser.parse_args()
    levels = collections.defaultdict(tuple)
    for name, level in (text.split("=") for text in arguments.levels):
        levels[name] += (level,)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    for backend in arguments.backends:
        factors = {**factors_of(backend), **levels}
        path = arguments.folder / f"{arguments.seed}-{backend}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        results = {
            entry["key"]: entry for entry in map(json.loads, lines) if entry["status"] == "ok"
        }
        covering = Covering(factors, forbidden(backend), arguments.seed)
        tasks = [
            *({"run": run} for run in covering),
            *refusal_tasks(backend, factors, covering),
        ]
        # Some of a few levels go with no others.
        impossible = set() if levels else covering.impossible
        os.environ.update(ENVIRONMENT, KERAS_BACKEND=backend)
        worker = Worker(arguments.eagerly)
        done = []
        try:
            for task in tasks[: arguments.first]:
                key = json.dumps(task, sort_keys=True)
                if key not in results:
                    results[key] = {"key": key, **task, **worker.outcome(task)}
                    with open(path, "a") as file:
                        file.write(json.dumps(results[key]) + "\n")
                done.append(results[key])
                if done[-1]["status"] == "failed" or len(done) % 20 == 0:
                    print(backend, len(done), done[-1].get("error", "ok")[:200], flush=True)
        finally:
            worker.stop()
        bad += report(backend, len(tasks), done, impossible)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
