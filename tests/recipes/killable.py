"""Runs recipes in forks of this process, to the end or to a SIGKILL. TensorFlow loads only once.

Each line of the input is a JSON object: `recipe`, `arguments`, `folder` (where it writes), `said`
(the file of its output), and `kill`: None, or n, to kill it before the n-th opening, renaming, ...
of a file in `folder`, with the processes that it started, as a machine that stops does. A line of
JSON answers: `status` (negative: a signal) and the number of `writes`.
"""

import json
import multiprocessing
import os
import signal
import sys
from importlib import import_module

WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
writes = multiprocessing.RawValue("i")  # of a run


def watch(folder, last):
    """Counts the changes of files in a folder, and kills the run before one of them."""

    def hook(event, arguments):
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if not (is_write or event in WRITES) or not str(arguments[0]).startswith(folder):
            return
        writes.value += 1
        if writes.value == last:
            os.killpg(0, signal.SIGKILL)

    sys.addaudithook(hook)


def run(line):
    import tensorflow as tf

    from _shared import run_recipe

    os.setpgrp()
    said = os.open(line["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    watch(line["folder"], line["kill"])
    [cpu] = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    # Slices of 32 KiB: a small text has many shards.
    sys.modules["keras_bert.corpus.corpus_plan"].MIN_SLICE_BYTES = 2**15
    sys.argv = [line["recipe"], *line["arguments"]]
    run_recipe(import_module(line["recipe"]).main)


def answered(line):
    writes.value = 0
    process = multiprocessing.get_context("fork").Process(target=run, args=[line])
    process.start()
    process.join()
    return {"status": process.exitcode, "writes": writes.value}


if __name__ == "__main__":
    import tensorflow_text  # noqa: F401

    import keras_bert

    for name in keras_bert.__all__:  # all of its modules; TensorFlow itself must not start
        value = getattr(keras_bert, name)
        for own in getattr(value, "__all__", ()):
            getattr(value, own)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
