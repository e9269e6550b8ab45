"""Slices in a pool of processes on this machine."""

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import threading
from concurrent.futures.process import BrokenProcessPool

import tensorflow as tf

from keras_bert.corpus.corpus_slice import write_slice

_tokenizer = None  # of a worker process, made once


# A worker takes seconds to start, in which this process would have done about so much.
BYTES_WORTH_A_WORKER = 2**25


def default_num_workers(num_bytes):
    """One for each core that this process may use, but fewer where there is little to do."""
    has_affinity = hasattr(os, "sched_getaffinity")
    num_cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(num_cores, num_bytes // BYTES_WORTH_A_WORKER))


def run_locally(slices, num_slices, folder, settings, tokenizer, num_workers):
    """Yields `(slice, result)` as slices are done; with one worker, in this process.

    Raises:
        RuntimeError: when a worker process dies. What a slice itself raises is passed on; the
            shards that are whole stay.
    """
    if num_workers < 1:
        raise ValueError(f"num_workers must be at least 1; it is {num_workers}")
    num_workers = min(num_workers, len(slices))
    if num_workers <= 1:
        for slice_ in slices:
            yield slice_, write_slice(slice_, num_slices, folder, settings, tokenizer)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        num_workers,
        # Forking a process in which TensorFlow has started threads may hang.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(type(tokenizer), tokenizer.get_config()),
    )
    try:
        futures = {
            pool.submit(_work, slice_, num_slices, folder, settings): slice_ for slice_ in slices
        }
        for future in concurrent.futures.as_completed(futures):
            yield futures.pop(future), future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A worker process died: it was killed, or memory ran out, or the call stands at the "
            "top level of a script, which worker processes run again (put it under `if __name__ "
            '== "__main__":`). Finished shards are kept: make the same call again, with fewer '
            "num_workers if memory is short."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(tokenizer_type, config):
    global _tokenizer
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.set_visible_devices([], "GPU")
    _tokenizer = tokenizer_type.from_config(config)


def _end_with_parent():
    # A pool's processes wait for ever where the one that made it was killed.
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _work(slice_, num_slices, folder, settings):
    return write_slice(slice_, num_slices, folder, settings, _tokenizer)
