import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from glue.results import read_glue_results
from glue.tasks import TASKS

NLI_HEADER = ["index", "sentence1", "sentence2", "gold_label"]
RESULTS = ["seed", "batch_size", "learning_rate", "epochs", "epoch"]
SCORES = {
    "f1": 0.8,
    "accuracy": 0.7,
    "mismatched_accuracy": 0.72,
    "mcc": 0.6,
    "spearman": 0.9,
}
SCORES["score"] = 0.75
COLUMNS = {
    "MNLI-m": 70,
    "MNLI-mm": 72,
    "QQP": 80,
    "QNLI": 70,
    "SST-2": 70,
    "CoLA": 60,
    "STS-B": 90,
    "MRPC": 80,
    "RTE": 70,
}


def test_mnli_has_two_dev_sets_and_three_to_answer(module, arguments, write_table, tmp_path):
    folder, names = tmp_path / "MNLI", ["contradiction", "entailment", "neutral"]
    counts = {"train": 24, "dev_matched": 6, "dev_mismatched": 9}
    counts |= {"test_matched": 4, "test_mismatched": 5, "diagnostic": 3}
    for split, count in counts.items():
        rows = ([i, f"it is {i}", "so it is", names[i % 3]] for i in range(count))
        write_table(folder / f"{split}.tsv", NLI_HEADER, *rows)
    data = ["--task", "mnli", "--data", str(folder), "--diagnostic", str(folder)]
    train, dev, tests = module.read_splits(module.parse_args(arguments({}, *data)))
    assert (len(train), [len(part) for part in dev]) == (24, [6, 9])
    assert [(part.task, len(part)) for part in tests] == [
        ("MNLI", 4),
        ("MNLI", 5),
        ("AX", 3),
    ]
    scores = module.score(dev, np.concatenate([dev[0].labels, np.zeros(9, int)]))
    assert scores == pytest.approx({"accuracy": 1.0, "mismatched_accuracy": 1 / 3, "score": 2 / 3})


@pytest.fixture
def pretended(module, write_table, monkeypatch):
    """Arguments of the tasks that were run, `{task: args}`; each leaves the recipe's files."""
    ran = {}

    def run(process):
        args = module.parse_args(process[2:])
        ran[args.task] = args
        write_table(Path(args.output) / f"submission/{args.task}.tsv", ("index", "prediction"))
        rows = ([seed, 32, 2e-5, 3, 1, *SCORES.values()] for seed in args.seeds)
        write_table(Path(args.output) / "results.tsv", [*RESULTS, *SCORES], *rows)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(module.subprocess, "run", run)
    return ran


def test_every_task_is_run_and_submitted(
    module, arguments, write_table, pretended, tmp_path, capsys
):
    data, output = tmp_path / "glue", tmp_path / "out"
    for task in ("mnli", "mrpc", "ax"):
        for name, *_ in TASKS[task].files.values():
            write_table(data / TASKS[task].name / name)  # nothing reads it
    module.main(arguments({}, "--task", "all", "--data", str(data), "--seeds", "0", "1"))
    assert [*pretended] == ["mrpc", "mnli"]
    for task, args in pretended.items():
        assert args.seeds == [0, 1] and args.output == str(output / task)
        assert (args.diagnostic is not None) == (task == "mnli")
    assert "| 72.0 ± 0.0 |" in (output / "glue.md").read_text()
    assert (output / "glue.md").read_text() in capsys.readouterr().out
    with zipfile.ZipFile(output / "submission.zip") as file:
        assert sorted(file.namelist()) == ["mnli.tsv", "mrpc.tsv"]


def test_a_lucky_seed_and_a_setting_that_diverged_do_not_win(write_table, tmp_path):
    rows = []
    for size, seed, epoch, score in (
        (16, 0, 1, 0.80),
        (16, 0, 2, 0.70),
        (16, 1, 1, 0.82),
        (32, 0, 1, 0.90),
        (64, 0, 1, "nan"),
        (64, 1, 1, "nan"),
    ):
        rows.append([seed, size, 2e-5, 3, epoch, score, score])
    write_table(tmp_path / "mrpc/results.tsv", [*RESULTS, "f1", "score"], *rows)
    found = [(s["metric"], s["seed"], s["value"]) for s in read_glue_results(tmp_path)]
    assert found[:2] == [("MRPC", 0, 80.0), ("MRPC", 1, 82.0)]


def test_table_1_has_a_score_of_each_task_and_the_average_of_the_paper(write_table, tmp_path):
    row = [0, 16, 2e-5, 3, 1, *SCORES.values()]
    for task in TASKS.keys() - {"ax"}:
        write_table(tmp_path / task / "results.tsv", [*RESULTS, *SCORES], row)
    found = {score["metric"]: score["value"] for score in read_glue_results(tmp_path)}
    average = {"average": np.mean([*COLUMNS.values()])}  # WNLI is left out, MNLI counts twice
    assert found == pytest.approx({**COLUMNS, "WNLI": 70, **average})
