"""Slice processing on a pool of local processes."""

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import tensorflow as tf

from keras_bert.corpus.corpus_plan import Slice

_work = None  # a worker process's own, created once

# A worker takes seconds to start; in that time this process prepares about this much text.
BYTES_WORTH_A_WORKER = 2**25


def default_num_workers(num_bytes: int) -> int:
    """Returns one worker per core available to this process, or fewer for small inputs."""
    has_affinity = hasattr(os, "sched_getaffinity")
    num_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(num_cores, num_bytes // BYTES_WORTH_A_WORKER))


def run_locally(
    slices: list[Slice], work: Callable[[Slice], Any], num_workers: int
) -> Iterator[tuple[Slice, Any]]:
    """Yields `(slice, work(slice))` as slices finish; one worker means this process itself.

    Args:
        slices: list of `Slice`.
        work: function of a slice that can be pickled, for example a `functools.partial`.
        num_workers: number of processes.

    Raises:
        RuntimeError: if a worker process dies. An exception raised by a slice propagates.
            Finished shards are kept in both cases.
    """
    if num_workers < 1:
        raise ValueError(f"num_workers must be at least 1; got {num_workers}.")
    num_workers = min(num_workers, len(slices))
    if num_workers <= 1:
        for slice_ in slices:
            yield slice_, work(slice_)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        num_workers,
        # Forking a process in which TensorFlow has started threads may hang.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(pickle.dumps(work),),
    )
    try:
        futures = {pool.submit(_run, slice_): slice_ for slice_ in slices}
        for future in concurrent.futures.as_completed(futures):
            yield futures.pop(future), future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A worker process died: it was killed, memory ran out, or the call is at the top "
            "level of a script, which each worker runs again (put it under `if __name__ == "
            '"__main__":`). Rerun the same call, with fewer num_workers if memory is short; '
            "prepare_corpus resumes from its finished shards."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(pickled_work):
    global _work
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.set_visible_devices([], "GPU")
    _work = pickle.loads(pickled_work)  # only now: a tokenizer starts TensorFlow


def _end_with_parent():
    # If the parent is killed, the processes of its pool would wait forever.
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _run(slice_):
    return _work(slice_)
