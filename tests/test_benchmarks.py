"""Benchmarks load; the comparison of two libraries runs, at toy size, on real data."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPT = BENCHMARKS / "against_transformers.py"
PLAN = BENCHMARKS / "plan" / "plan.py"
LOADED = [path for path in sorted(BENCHMARKS.glob("[!_]*.py")) if "transformers_f" not in path.stem]
LOADED.append(PLAN)


@pytest.mark.parametrize("path", LOADED, ids=lambda path: path.stem)
def test_benchmarks_load_and_explain_their_options(path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(SystemExit) as end:
        module.parse_args(["--help"])
    assert end.value.code == 0
    assert module.__doc__.splitlines()[0] in " ".join(capsys.readouterr().out.split())


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
    faster = [*arguments, "--attention_dropout", 0, "--packed"]
    slower = [*arguments, "--accumulation_steps", 2, "--remat"]
    moved = []
    for said in (run_python(PLAN, *faster), run_python(PLAN, *slower)):
        assert "GiB: fits" in said and "days for 1,000,000 steps" in said
        assert "communication: all-reduce\n" in said, "rows are not exchanged"
        moved.append(float(re.search(r"writes: (\S+) bytes", said)[1]))
    assert 0 < moved[0] < moved[1]


@pytest.fixture(scope="module")
def weights(shared_data, transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(folder)
    vocabulary = shared_data / "vocab" / "bert-base-uncased.txt"
    (folder / "vocab.txt").write_bytes(vocabulary.read_bytes())
    transformers.BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    return folder


@pytest.mark.weekly
@pytest.mark.shared
@pytest.mark.parametrize("task", ["sentiment", "squad2"])
def test_both_libraries_learn_a_task_and_are_scored_alike(
    task, shared_data, weights, tmp_path, run_python
):
    output = tmp_path / "results.jsonl"
    arguments = ["--data", shared_data, "--model", weights, "--output", output, "--task", task]
    arguments += ["--limit", 16, "--limit_eval", 16, "--epochs", 2, "--batch_size", 8]
    arguments += ["--sequence_length", 128, "--document_stride", 32, "--seed", 0]
    table = run_python(SCRIPT, *arguments)
    results = [json.loads(line) for line in output.read_text().splitlines()]
    assert [result["library"] for result in results] == ["keras_bert", "transformers"]
    first, second = results
    assert first["rows"] == second["rows"] >= 16
    assert first["scores"].keys() == second["scores"].keys()
    assert all(len(result["epoch_seconds"]) == 2 for result in results)
    assert abs(first["loss"] - second["loss"]) < 0.5  # both have barely started to train
    assert f"| {task} | 16, 16 | 1 |" in table

    assert run_python(SCRIPT, "--table", output) == table[table.index("| task |") :]
    before = output.read_text()
    run_python(SCRIPT, *arguments)
    assert output.read_text() == before, "runs that have a line already are skipped"
