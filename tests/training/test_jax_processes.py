"""Two JAX processes of two devices each train as one process of one device does."""

import json
import re
from pathlib import Path

import keras
import pytest

from tests.marks import with_package

SCRIPT = Path(__file__).with_name("jax_processes.py")
# JAX compiles more than it computes here.
FAST = {"KERAS_BACKEND": "jax", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}

pytestmark = [pytest.mark.weekly, with_package("jax")]


@pytest.fixture(scope="module")
def runs(run_together, free_addresses, tmp_path_factory):
    """What one process of one device printed, two of two devices each, and where these wrote."""

    def results(folder, devices, *places):
        settings = {
            **FAST,
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        }
        command = [SCRIPT, folder / "run"]
        said = run_together(command, *({**settings, **place} for place in places))
        return [json.loads(re.search(r"^{.*}$", text, re.MULTILINE)[0]) for text in said]

    [alone] = results(tmp_path_factory.mktemp("one"), 1, {})
    place = {
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": free_addresses(1)[0],
        "KERAS_DISTRIBUTION_NUM_PROCESSES": "2",
    }
    folder = tmp_path_factory.mktemp("two")
    places = [{**place, "KERAS_DISTRIBUTION_PROCESS_ID": number} for number in "01"]
    return alone, results(folder, 2, *places), folder / "run"


def test_two_processes_give_the_numbers_of_one(assert_close, runs):
    alone, together, folder = runs
    for one_of_two in together:
        assert one_of_two["said"].startswith("4 replicas on CPU in 2 processes; batches of 8 rows")
        assert one_of_two["timed"]["steps"] == alone["timed"]["steps"] > 9
        for part in ("plain", "timed", "tuned"):
            keras.tree.assert_same_structure(one_of_two[part], alone[part])
            assert_close(*(keras.tree.flatten(run[part]) for run in (one_of_two, alone)))
        assert "must be given the same batches" in one_of_two["refused"]["data"]
        assert "must find the same checkpoint" in one_of_two["refused"]["checkpoint"]
        assert "They have [5, 0]" in one_of_two["refused"]["checkpoint"]
        assert "train together, on all of their 4 devices" in one_of_two["refused"]["devices"]
    # A resumed run ends with the same bits in both; the first process writes.
    assert [run["resumed"] for run in (alone, *together)] == [0.0, 0.0, 0.0]
    first, second = together
    assert (first["files"], second["files"]) == (alone["files"], 0)
    for written in ("step-0000000004.npz", "tuned/best/model.weights.h5"):
        assert (folder / written).is_file()
