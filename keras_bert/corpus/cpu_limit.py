"""A limit on the processor time of a block of code."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator


class CpuTimeExceeded(Exception):
    """A block took more processor time than its `cpu_time_limit`."""


@contextlib.contextmanager
def cpu_time_limit(seconds: float) -> Iterator[None]:
    """Limits the processor time that this thread spends in a `with` block.

    A timer's signal ends the block, even inside a regular expression. A call of other native code
    ends first. There is no limit where signals can't be used: outside of the main thread, on
    Windows, and in a program with its own handler of SIGVTALRM.

    Args:
        seconds: float, processor time, so that a busy machine changes nothing.

    Raises:
        CpuTimeExceeded: if the block takes longer.

    Example:
    ```python
    with cpu_time_limit(60):
        passages, num_broken = wikitext_passages(text)
    ```
    """
    if not _has_free_timer():
        yield
        return
    end = time.thread_time() + seconds

    def stop(*_):
        left = end - time.thread_time()
        if left <= 0:
            raise CpuTimeExceeded
        signal.setitimer(signal.ITIMER_VIRTUAL, left)  # other threads' time ran the timer down

    signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)


def _has_free_timer():
    return (
        hasattr(signal, "SIGVTALRM")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL
    )
