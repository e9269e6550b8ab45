"""Runs recipes in forks of this process, to the end or to a SIGKILL. TensorFlow loads only once.

Each line of the input is a JSON object: `recipe`, `arguments`, `folder` (where it writes), `said`
(the file of its output), and `kill`, None or one of

    ["write", n]            before the n-th opening, renaming, ... of a file in `folder`
    ["seconds", s]          after so long
    ["later", s]            so long after the first change of a file in `folder`
    ["worker", n, seed]     one of its worker processes, in the n-th slice of the text

All but the last kill the processes that the recipe started too, as a machine that stops does. A
line of JSON answers: `status` (negative: a signal), `seconds`, the number of `writes`, and the
`seconds_of_writes` from the first of them to the end.
"""

import functools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
TINY = {  # scale of the ablations
    "pretrain": ["--phase 16 --size tiny --batch_size 4 --save_every 4"],
    "steps": 8,
    "preset_every": 4,
    "text": "--sequence_length 16",
    "mixes": 1,
}
counts = multiprocessing.RawArray("d", 2)  # of a run: its writes, and the time of the first


def die():
    os.killpg(0, signal.SIGKILL)


def work_and_die(work, number, seed, slice_):
    """What a worker does with a slice; in one of them it is killed before it hands over."""
    if slice_.index == number:
        kill = (os.getpid(), signal.SIGKILL)
        threading.Timer(random.Random(seed).uniform(0, 0.02), os.kill, kill).start()
        work(slice_)
        time.sleep(60)
    return work(slice_)


def watch(folder, kind, when):
    """Counts the changes of files in a folder, and kills the run at one or after the first."""

    def hook(event, arguments):
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if not (is_write or event in WRITES) or not str(arguments[0]).startswith(folder):
            return
        counts[0] += 1
        if counts[0] == 1:
            counts[1] = time.monotonic()
            if kind == "later":
                threading.Timer(when, die).start()
        if kind == "write" and counts[0] == when:
            die()

    sys.addaudithook(hook)


def module_of(recipe):
    folder = "recipes.paper" if recipe == "ablations" else "recipes"
    return import_module(f"{folder}.{recipe}")


def ends(recipe, arguments):
    from keras_bert.recipes._shared import run_recipe

    sys.argv = [recipe, *arguments]
    try:
        run_recipe(module_of(recipe).main)
        return 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def run_forked(command, stdout, stderr):
    """Runs a step of `ablations` as `subprocess.run` does, in a fork."""
    process = os.fork()
    if not process:
        os.dup2(stdout.fileno(), 1)
        os.dup2(stdout.fileno(), 2)
        os._exit(ends(Path(command[1]).stem, command[2:]))
    return SimpleNamespace(returncode=os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def run(line):
    import tensorflow as tf

    os.setpgrp()
    said = os.open(line["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    kind, *details = line["kill"] or [None]
    watch(line["folder"], kind, *details[:1] or [0])
    [cpu] = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    # Slices of 32 KiB: a small text has many shards.
    sys.modules["keras_bert.corpus.corpus_plan"].MIN_SLICE_BYTES = 2**15
    steps = SimpleNamespace(run=run_forked, STDOUT=subprocess.STDOUT)
    import_module("keras_bert.recipes.paper.run_once").subprocess = steps
    if line["recipe"] == "ablations":
        module_of("ablations").SCALES["micro"] |= TINY
    if kind == "worker":
        module = sys.modules[f"keras_bert.corpus.{line['recipe']}"]
        real = module.run_locally

        def run_locally(slices, work, num_workers):
            return real(slices, functools.partial(work_and_die, work, *details), num_workers)

        module.run_locally = run_locally
    return ends(line["recipe"], line["arguments"])


def answered(line):
    counts[:] = 0, 0
    started = time.monotonic()
    process = os.fork()
    if not process:
        os._exit(run(line))
    kind, *details = line["kill"] or [None]
    if kind == "seconds":
        time.sleep(0.05 + details[0])  # it has a group of its own by then
        os.killpg(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    ended = time.monotonic()
    return {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": ended - started,
        "writes": int(counts[0]),
        "seconds_of_writes": ended - counts[1] if counts[0] else 0,
    }


if __name__ == "__main__":
    import tensorflow_text  # noqa: F401

    import keras_bert

    for name in keras_bert.__all__:  # all of its modules; TensorFlow itself must not start
        value = getattr(keras_bert, name)
        for own in getattr(value, "__all__", ()):
            getattr(value, own)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
