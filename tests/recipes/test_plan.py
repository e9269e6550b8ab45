from pathlib import Path

import pytest

from keras_bert.planning.compiler import has_compiler
from keras_bert.planning.devices import CHIPS

SCRIPT = Path(__file__).resolve().parents[2] / "recipes" / "plan.py"


def test_mistakes_are_refused_before_a_model_is_made(module, monkeypatch, refused):
    monkeypatch.setattr(module.keras_bert, "BertBackbone", None)
    refused("'v5e:3x3'", module.main, ["--device", "v5e:3x3"])
    monkeypatch.setattr("keras_bert.planning.compiler.check_compiler", lambda chip: None)
    refused("a multiple of 4, for instance 252", module.main, ["--batch_size", "250"])


@pytest.mark.slow
@pytest.mark.skipif(not has_compiler(CHIPS["v5e"]), reason='pip install ".[tpu-plan]"')
def test_a_tiny_model_is_planned_for_four_chips(run_python):
    arguments = "--size tiny --vocabulary_size 1000 --batch_size 64 --accumulation_steps 2 --remat"
    said = run_python(SCRIPT, *arguments.split())
    for part in ("on v5e:2x2 (4 chips of 16 GB)", "to spare", "bound by", "1,000,000 steps"):
        assert part in said
    lines = [line for line in said.splitlines() if "at the peak rate" in line]
    amounts = {line[:34].strip(): float(line[34:].split()[0]) for line in lines}
    # Both iterations of the loop count, and so does the second forward pass.
    products, operations = amounts["matrix products of the model"], amounts["all operations"]
    assert 4 / 3 < operations / products < 2
    assert 0 < amounts["HBM reads and writes"]
