"""How many examples Hypothesis runs: a few fixed ones, or with `FUZZ_EXAMPLES` as many new ones."""

import logging
import os

import hypothesis
import pytest

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20"))
hypothesis.settings.register_profile(
    "fuzz",
    max_examples=EXAMPLES,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("fuzz")


@pytest.fixture(scope="module", autouse=True)
def quiet():
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
