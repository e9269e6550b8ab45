"""Many requests at once, for long: no answer is another request's."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

REQUESTS, THREADS, LARGEST = 7000, 8, 6
# Repeated words would have spans of equal scores, among which rounding chooses.
LONG = ["".join(random.Random(1).choices(letters, k=4000)) for letters in ("a b c", "中a")]
HOSTILE = ["\x00", "a" * 50_000, "😀" * 3000, "\u0301" * 2000, "\u200b", *LONG]


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("name", ["classes", "words", "questions"])
def test_requests_at_once_are_answered_as_if_they_were_alone(served, name, same_answers):
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
        expected = [{name: values[0] for name, values in alone[i].items()} for i in numbers]
        same_answers(one.ask(rows(numbers)), expected)

    with ThreadPoolExecutor(THREADS) as pool:
        assert len([*pool.map(ask, requests)]) == REQUESTS
