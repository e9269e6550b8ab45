"""Every pair of features works or is refused: a part of the array that `make pairs` runs."""

import sys
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from tests.pairs.refused import PAGE, page  # noqa: E402

BACKENDS = ("tensorflow", "jax", "torch")


def test_the_docs_show_the_list():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.pairs.refused"


OTHERS = [pytest.param(name, marks=pytest.mark.weekly) for name in BACKENDS[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("backend", [BACKENDS[0], *OTHERS])
def test_a_part_of_the_pairs_works(backend, run_python, tmp_path):
    options = ("--backends", backend, "--first", 2, "--folder", tmp_path)
    assert "failed 0" in run_python("-m", "tests.pairs", *options, cwd=ROOT)


@pytest.mark.weekly
def test_all_pairs_work(run_python, tmp_path):
    week = date.today().isocalendar().week  # another array each week
    options = ("--seed", week, "--folder", tmp_path)
    assert "failed 0" in run_python("-m", "tests.pairs", *options, cwd=ROOT), f"seed {week}"
