"""Runs recipes in forks of this process, to the end or to a SIGKILL. TensorFlow loads only once.

Each line of the input is a JSON object: `recipe`, `arguments`, `folder` (where it writes), `said`
(the file of its output), and `kill`, None or one of

    ["write", n]            before its n-th opening, renaming, ... of a file in `folder`
    ["seconds", s]          after so long
    ["later", s]            so long after the first change of a file in `folder`
    ["worker", n, seed]     one of its worker processes, in the n-th slice of the text

A line of JSON answers: `status` (negative: a signal), `seconds`, the number of `writes`, and the
`seconds_of_writes` from the first of them to the end.
"""

import functools
import json
import os
import random
import runpy
import signal
import sys
import threading
import time

WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def work_and_die(work, number, seed, slice_):
    """What a worker does with a slice; in one of them it is killed some milliseconds later."""
    if slice_.index == number:
        threading.Timer(random.Random(seed).uniform(0, 0.02), die).start()
    return work(slice_)


def watch(folder, writes, kind, when):
    """Notes the times of changes of files in a folder, and kills the process at one or after it."""

    def hook(event, arguments):
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if not (is_write or event in WRITES) or not str(arguments[0]).startswith(folder):
            return
        writes.append(time.monotonic())
        if kind == "later" and len(writes) == 1:
            threading.Timer(when, die).start()
        if kind == "write" and len(writes) == when:
            die()

    sys.addaudithook(hook)


def run(line, answer):
    """What the fork does."""
    said = os.open(line["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    kind, *details = line["kill"] or [None]
    writes, status = [], 1
    watch(line["folder"], writes, kind, *details[:1] or [0])
    # Slices of 32 KiB: a small text has many shards.
    sys.modules["keras_bert.corpus.corpus_plan"].MIN_SLICE_BYTES = 2**15
    if kind == "worker":
        module = sys.modules[f"keras_bert.corpus.{line['recipe']}"]
        real = module.run_locally

        def run_locally(slices, work, num_workers):
            return real(slices, functools.partial(work_and_die, work, *details), num_workers)

        module.run_locally = run_locally
    sys.argv = [line["recipe"], *line["arguments"]]
    try:
        runpy.run_module(f"recipes.{line['recipe']}", run_name="__main__")
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        lasted = time.monotonic() - writes[0] if writes else 0
        counts = {"writes": len(writes), "seconds_of_writes": lasted}
        os.write(answer, json.dumps(counts).encode())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def answered(line):
    read, write = os.pipe()
    started = time.monotonic()
    process = os.fork()
    if not process:
        os.close(read)
        run(line, write)
    os.close(write)
    kind, *details = line["kill"] or [None]
    if kind == "seconds":
        threading.Timer(details[0], os.kill, (process, signal.SIGKILL)).run()
    _, status = os.waitpid(process, 0)
    with os.fdopen(read, "rb") as pipe:
        counts = json.loads(pipe.read() or b"{}")
    status = os.waitstatus_to_exitcode(status)
    return {"status": status, "seconds": time.monotonic() - started, **counts}


if __name__ == "__main__":
    import tensorflow_text  # noqa: F401

    import keras_bert

    for name in keras_bert.__all__:  # all of its modules; TensorFlow itself must not start
        getattr(keras_bert, name)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
