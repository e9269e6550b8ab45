"""Benchmarks load; the comparison of two libraries runs, at toy size, on real data."""

import importlib.util
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPT = BENCHMARKS / "against_transformers.py"
LOADED = [path for path in sorted(BENCHMARKS.glob("[!_]*.py")) if "transformers_f" not in path.stem]


@pytest.mark.parametrize("path", LOADED, ids=lambda path: path.stem)
def test_benchmarks_load_and_explain_their_options(path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(SystemExit) as end:
        module.parse_args(["--help"])
    assert end.value.code == 0
    assert module.__doc__.splitlines()[0] in " ".join(capsys.readouterr().out.split())


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
@pytest.mark.slow
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
