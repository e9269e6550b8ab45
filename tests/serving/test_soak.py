"""Many requests at once, for long: no answer is another request's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

REQUESTS, THREADS, LARGEST = 7000, 8, 6
HOSTILE = ["\x00", "a" * 50_000, "a " * 2000, "😀" * 3000, "\u0301" * 2000, "中" * 2000, "\u200b"]


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("name", ["classes", "words", "questions"])
def test_requests_at_once_are_answered_as_if_they_were_alone(served, name, assert_alike):
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
        found = one.ask(rows(numbers))
        for row, i in enumerate(numbers):
            assert_alike({key: value[row] for key, value in found.items()}, alone[i])

    with ThreadPoolExecutor(THREADS) as pool:
        assert len([*pool.map(ask, requests)]) == REQUESTS


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
