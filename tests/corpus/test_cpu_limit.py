import re
import signal
import threading
import time

import pytest

from keras_bert.corpus import cpu_limit
from keras_bert.corpus.cpu_limit import CpuTimeExceeded, cpu_time_limit


def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_block_within_its_limit_ends_as_usual():
    with cpu_time_limit(60):
        done = True
    assert done and signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def test_a_regular_expression_is_interrupted_and_the_next_block_has_its_own_limit():
    for _ in range(2):
        with pytest.raises(CpuTimeExceeded), cpu_time_limit(0.05):
            re.search("(a|aa)*b", "a" * 100)  # takes years
    assert signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL


def test_an_error_of_the_block_is_passed_on():
    with pytest.raises(KeyError), cpu_time_limit(60):
        raise KeyError
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def test_other_threads_do_not_use_up_the_time(monkeypatch):
    busy = time.thread_time
    with monkeypatch.context() as patch:
        patch.setattr(cpu_limit.time, "thread_time", lambda: 0.0)  # this thread does nothing
        with cpu_time_limit(0.01):
            end = busy() + 0.1
            while busy() < end:
                pass
            done = True
    assert done


def test_there_is_no_limit_outside_of_the_main_thread():
    done = []

    def work():
        with cpu_time_limit(0.01):
            spend(0.1)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


def test_a_handler_of_the_program_stays():
    def handler(*_):
        pass

    signal.signal(signal.SIGVTALRM, handler)
    try:
        with cpu_time_limit(0.01):
            spend(0.1)
        assert signal.getsignal(signal.SIGVTALRM) is handler
    finally:
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
