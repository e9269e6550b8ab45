"""Slices processed by local processes or by Apache Beam, and their progress bar."""

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from keras_bert.corpus.corpus_plan import Slice
from keras_bert.messages import check_int, from_extra

if TYPE_CHECKING:
    import tqdm

_work = None  # a worker process's own, created once

# A worker takes seconds to start; in that time this process prepares about this much text.
BYTES_WORTH_A_WORKER = 2**25


def run_locally(
    slices: list[Slice],
    work: Callable[[Slice], Any],
    num_workers: int | None,
) -> Iterator[tuple[Slice, Any]]:
    """Yields `(slice, work(slice))` in order; one worker means this process itself.

    By default there is one worker per available core, or fewer for small inputs.
    """
    if num_workers is None:
        num_cores = os.cpu_count() or 1
        if hasattr(os, "sched_getaffinity"):
            num_cores = len(os.sched_getaffinity(0))
        num_bytes = sum(slice_.text_bytes for slice_ in slices)
        num_workers = max(1, min(num_cores, num_bytes // BYTES_WORTH_A_WORKER))
    check_int("num_workers", num_workers)
    num_workers = min(num_workers, len(slices))
    if num_workers <= 1:
        yield from zip(slices, map(work, slices), strict=True)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        num_workers,
        # Forking a process in which TensorFlow has started threads may hang.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(pickle.dumps(work),),
    )
    try:
        yield from zip(slices, pool.map(_run, slices), strict=True)
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
    _work = pickle.loads(pickled_work)


def _end_with_parent():
    # If the parent is killed, the processes of its pool would wait forever.
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _run(slice_):
    return _work(slice_)


def run_on_beam(
    slices: list[Slice],
    work: Callable[[Slice], Any],
    options: Sequence[str],
) -> Iterator[tuple[Slice, None]]:
    """Runs `work` on all slices with Beam; then yields them, without its results."""
    with from_extra("corpus"):
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
    with beam.Pipeline(options=PipelineOptions(list(options))) as pipeline:
        spread = pipeline | beam.Create(slices) | beam.Reshuffle()  # or one worker may get them all
        spread | beam.Map(work)
    for slice_ in slices:
        yield slice_, None


def progress_bar(name: str, slices: list[Slice], progress: bool) -> "tqdm.tqdm":
    """Makes a bar of bytes of text: a widget in a notebook with ipywidgets, otherwise text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "IProgress not found": the bar is text then
        from tqdm.auto import tqdm

    return tqdm(
        total=sum(slice_.text_bytes for slice_ in slices),
        unit="B",
        unit_scale=True,
        desc=name,
        disable=not progress,
        # Each update is a line of a log, and of a notebook that a program runs.
        mininterval=0.1 if sys.stderr.isatty() else 1.0,
    )
