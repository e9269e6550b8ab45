"""Many requests at once, for long: no answer is another request's, and memory stays flat."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

REQUESTS, THREADS, LARGEST = 7000, 8, 6
HOSTILE = ["\x00", "a" * 50_000, "a " * 2000, "😀" * 3000, "\u0301" * 2000, "中" * 2000, "\u200b"]


def resident_bytes():
    """Memory of this process, from Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("name", ["classes", "words", "questions"])
def test_requests_at_once_are_answered_as_if_they_were_alone(served, name, assert_alike):
    if not Path("/proc/self/statm").exists():
        pytest.skip("reads the memory of a process from Linux's /proc")
    one = served(name)
    columns = {name: [*values] for name, values in one.columns.items()}
    *others, last = columns.values()
    last += HOSTILE
    for values in others:
        values += [values[0]] * len(HOSTILE)
    number = len(last)

    def rows(numbers):
        return {name: [column[i] for i in numbers] for name, column in columns.items()}

    alone = [one.ask(rows([i])) for i in range(number)]
    generator = np.random.default_rng(0)
    requests = [
        generator.integers(0, number, generator.integers(1, LARGEST + 1)) for _ in range(REQUESTS)
    ]

    def ask(numbers):
        start = time.perf_counter()
        found = one.ask(rows(numbers))
        seconds = time.perf_counter() - start
        for row, i in enumerate(numbers):
            assert_alike({key: value[row] for key, value in found.items()}, alone[i])
        return seconds

    memory = []
    with ThreadPoolExecutor(THREADS) as pool:
        seconds = []
        for start in range(0, REQUESTS, REQUESTS // 7):
            seconds += pool.map(ask, requests[start : start + REQUESTS // 7])
            memory.append(resident_bytes() / 2**20)
    p50, p99 = 1000 * np.percentile(seconds, [50, 99])
    print(f"{name}: {REQUESTS:,} requests, p50 {p50:.1f} ms, p99 {p99:.1f} ms, MiB {memory}")
    assert memory[-1] < 1.05 * memory[3], f"memory grows: {memory} MiB"


@pytest.fixture(scope="module")
def assert_alike():
    """Compares the answers to one example, alone and among others: they are padded to lengths."""

    def is_alike(a, b):
        if isinstance(a, list):
            longer, shorter = (a, b) if len(a) > len(b) else (b, a)
            rest = longer[len(shorter) :]
            return all(map(is_alike, a, b)) and not any(np.ravel(rest).astype(bool))
        return abs(a - b) < 1e-4 if isinstance(a, float) else a == b

    def check(found, expected):
        for key, value in found.items():
            assert is_alike(value, expected[key][0]), (key, value, expected[key])

    return check
