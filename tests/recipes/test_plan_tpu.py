import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bert.planning.tpu_compiler import has_compiler

SCRIPT = Path(__file__).resolve().parents[2] / "recipes" / "plan_tpu.py"


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ})


def test_the_defaults_are_those_of_the_paper(recipe):
    args = recipe("plan_tpu").parse_args([])
    assert (args.size, args.batch_size, args.steps) == ("base", 256, 1_000_000)
    assert (args.vocabulary_size, args.sequence_length, args.dropout) == (30522, 128, 0.1)


def test_mistakes_are_told_before_a_model_is_made(recipe):
    module = recipe("plan_tpu")
    with pytest.raises(ValueError, match="Unknown topology 'v5e:3x3'"):
        module.main(["--topology", "v5e:3x3"])
    with pytest.raises(ValueError, match="utilization is a part of the peak"):
        module.main(["--utilization", "40"])


@pytest.mark.slow
@pytest.mark.skipif(not has_compiler(), reason="needs the tpu-plan extra (libtpu, JAX)")
def test_a_tiny_model_is_planned_for_four_chips():
    arguments = ["--size", "tiny", "--vocabulary_size", "1000", "--batch_size", "64"]
    done = run(*arguments, "--accumulation_steps", "2", "--remat")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "on v5e:2x2 (4 chips of 16 GB)" in done.stdout and "to spare" in done.stdout
    assert "bound by" in done.stdout and "1,000,000 steps" in done.stdout
    figures = {
        line[:34].strip(): float(line[34:].split()[0])
        for line in done.stdout.splitlines()
        if "at the peak rate" in line
    }
    # Twice the turns of a loop, and a second forward pass.
    products, operations = figures["matrix products of the model"], figures["all operations"]
    assert 4 / 3 < operations / products < 2
    assert 0 < figures["from and to HBM"]


@pytest.mark.skipif(not has_compiler(), reason="needs the tpu-plan extra (libtpu, JAX)")
def test_a_batch_that_chips_do_not_divide_is_refused_at_once():
    done = run("--batch_size", "250")
    assert done.returncode == 1 and "a multiple of 4, for instance 252" in done.stderr
