"""Benchmarks load, and a run is planned for devices that aren't there."""

import importlib.util
import re

import pytest

from tests.gates import ROOT

BENCHMARKS = ROOT / "benchmarks"
PLAN = BENCHMARKS / "plan" / "plan.py"
LOADED = [path for path in sorted(BENCHMARKS.glob("[!_]*.py")) if "transformers_f" not in path.stem]
LOADED.append(PLAN)


def test_benchmarks_load(monkeypatch):
    for path in LOADED:
        monkeypatch.syspath_prepend(str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.__doc__ and module.parse_args


def is_installed(*modules):
    return all(map(importlib.util.find_spec, modules))  # a missing parent ends it


FOR_TPUS = is_installed("jax", "libtpu")
FOR_GPUS = is_installed("jax", "nvidia", "jax_plugins", "jax_plugins.xla_cuda13")


@pytest.mark.weekly
@pytest.mark.parametrize(
    "device",
    [
        pytest.param("v5e:2x2", marks=pytest.mark.skipif(not FOR_TPUS, reason="needs libtpu")),
        pytest.param("h100:4", marks=pytest.mark.skipif(not FOR_GPUS, reason="see plan.py")),
    ],
)
def test_a_plan_has_memory_traffic_and_days(device, run_python):
    """Compiles a tiny model's step for devices that aren't there."""
    arguments = f"--device {device} --size tiny --vocabulary_size 1000 --batch_size 64".split()
    options = ["--attention_dropout", 0, "--packed", "--accumulation_steps", 2, "--remat"]
    said = run_python(PLAN, *arguments, *options)
    assert "GiB: fits" in said and "days for 1,000,000 steps" in said
    assert "communication: all-reduce\n" in said, "rows are not exchanged"
    assert float(re.search(r"writes: (\S+) bytes", said)[1]) > 0
