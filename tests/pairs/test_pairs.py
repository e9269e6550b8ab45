"""Every pair of features works or is refused: parts of the array that `make pairs` runs."""

import itertools
from datetime import date

import pytest

from tests.gates import ROOT
from tests.marks import slow, with_package
from tests.pairs.covering import Covering
from tests.pairs.factors import FACTORS
from tests.pairs.refused import EXPORTS, PAGE, forbidden, others, page

AFTER = others("after", *EXPORTS, "int8")  # without what takes long
FLOAT32, COARSE = ("float32",), others("dtype", "float32")


def test_the_docs_show_the_list():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.pairs.refused"


RUNS = [(FLOAT32, 2, 6)]
MORE = [(FLOAT32, 0, 2), (FLOAT32, 6, 14), (COARSE, 0, 8)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "dtypes, start, stop",
    [*RUNS, *(slow(*runs) for runs in MORE)],
)
def test_runs_that_meet_most_pairs_work(dtypes, start, stop, tensorflow, eagerly):
    """Untraced, which takes nearly all of the time; the numbers of float32 say most."""
    from tests.pairs.oracles import check

    factors = {**FACTORS, "dtype": dtypes, "devices": ("one",), "after": AFTER}
    runs = Covering(factors, forbidden("tensorflow"), seed=1)
    for run in itertools.islice(runs, start, stop):
        print(run)  # for where it fails
        check(run)


# Those whose losses count slots, windows or pairs of rows.
TASKS = (
    "pretrainer on arrays",
    "tags",
    "windows",
    "embedder of pairs",
    "embedder of scores",
)
TWO = {"devices": ("two",), "dtype": FLOAT32, "after": AFTER, "task": TASKS}
# All are exact, and all weights move.
TWO |= {"batching": ("fixed",), "freezing": ("none",)}
SCALED = {"dtype": (*FLOAT32, "mixed_float16")}


def command(backend, *options, **levels):
    levels = [f"{name}={v}" for name, values in {**TWO, **levels}.items() for v in values]
    # The first runs of this seed have each of the tasks.
    fixed = ("--backends", backend, "--seed", 14)
    return ["-m", "tests.pairs", *fixed, *options, "--levels", *levels]


ON_TENSORFLOW = with_package("tensorflow")
XLA = {"jit_compile": ("yes",), "remat": ("yes",)}
SLOW = [ON_TENSORFLOW, pytest.mark.slow]
PLAIN = {"task": ("tags",), "after": ("predict twice",)}
CASES = [
    pytest.param(command("tensorflow", "--first", 1, "--eagerly", **PLAIN), marks=ON_TENSORFLOW),
    pytest.param(command("tensorflow", "--first", 3, "--eagerly", **SCALED), marks=SLOW),
    pytest.param(command("tensorflow", "--first", 6), marks=SLOW),
    pytest.param(command("jax", "--first", 4), marks=[with_package("jax"), pytest.mark.slow]),
    pytest.param(
        command("tensorflow", "--first", 2, **XLA), marks=[ON_TENSORFLOW, pytest.mark.weekly]
    ),
]


@pytest.mark.parametrize("arguments", CASES)
def test_two_devices_give_the_numbers_of_one(arguments, run_python, tmp_path):
    assert "failed 0" in run_python(*arguments, "--folder", tmp_path, cwd=ROOT)


@pytest.mark.slow
def test_two_workers_give_the_numbers_of_one(tensorflow, two_workers, run_together, tmp_path):
    plain = {"task": TASKS[:1], "after": ("predict twice",)}
    arguments = command("tensorflow", "--first", 2, **plain)
    workers = ({**worker, "PYTHONPATH": str(ROOT)} for worker in two_workers)
    for said in run_together([*arguments, "--folder", tmp_path], *workers):
        assert "failed 0" in said


@pytest.mark.weekly
def test_all_pairs_work(run_python, tmp_path):
    week = date.today().isocalendar().week  # another array each week
    options = ("--seed", week, "--folder", tmp_path)
    assert "failed 0" in run_python("-m", "tests.pairs", *options, cwd=ROOT), f"seed {week}"
