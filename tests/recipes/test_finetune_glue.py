import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from glue.results import read_glue_results
from glue.tasks import TASKS

NLI_HEADER = ["index", "sentence1", "sentence2", "gold_label"]
RESULTS = ["seed", "batch_size", "learning_rate", "epochs", "epoch"]
SCORES = {  # of seed 0
    "mnli": {"accuracy": 0.7, "mismatched_accuracy": 0.72, "score": 0.71},
    "mrpc": {"f1": 0.8, "accuracy": 0.7, "score": 0.75},
    "stsb": {"pearson": 0.9, "spearman": 0.88, "score": 0.89},
    "wnli": {"accuracy": 0.5, "score": 0.5},
}


def test_mnli_has_two_dev_sets_and_three_to_answer(module, arguments, write_table, tmp_path):
    folder, names = tmp_path / "MNLI", ["contradiction", "entailment", "neutral"]
    rows = [NLI_HEADER, *([i, f"it is {i}", "so it is", names[i % 3]] for i in range(24))]
    for split, count in {"train": 24, "dev_matched": 6, "dev_mismatched": 9}.items():
        write_table(folder / f"{split}.tsv", *rows[: count + 1])
    for split, count in {"test_matched": 4, "test_mismatched": 5, "diagnostic": 3}.items():
        write_table(folder / f"{split}.tsv", *(row[:3] for row in rows[: count + 1]))
    data = ["--task", "mnli", "--data", str(folder), "--diagnostic", str(folder)]
    train, dev, tests = module.read_splits(module.parse_args(arguments({}, *data)))
    assert (len(train), [len(part) for part in dev]) == (24, [6, 9])
    assert [(part.task, len(part)) for part in tests] == [("MNLI", 4), ("MNLI", 5), ("AX", 3)]
    scores = module.score(dev, np.concatenate([dev[0].labels, np.zeros(9, int)]))
    assert scores == pytest.approx({"accuracy": 1.0, "mismatched_accuracy": 1 / 3, "score": 2 / 3})


def test_the_grid_is_that_of_the_paper(module):
    paper = [[16, 32], [5e-5, 3e-5, 2e-5], [2, 3, 4]]
    for options, values in (
        ("--seed 4", [[4], [32], [2e-5], [3]]),
        ("--grid", [[0], *paper]),
        ("--grid --seeds 0 1 --epoch_counts 3", [[0, 1], *paper[:2], [3]]),
        ("--grid --tokens_per_batch 4096", [[0], [32], *paper[1:]]),
    ):
        line = f"--init x --task rte --data y --output z {options}"
        assert [*module.grid_of(module.parse_args(line.split())).values()] == values, options


@pytest.fixture
def pretended(module, write_table, monkeypatch):
    """Arguments of the tasks that were run, `{task: args}`; each leaves the recipe's files."""
    ran = {}

    def run(process):
        args = module.parse_args(process[2:])
        ran[args.task] = args
        output = Path(args.output)
        write_table(output / f"submission/{args.task}.tsv", ("index", "prediction"))
        rows = [[*RESULTS, *SCORES[args.task]]]
        for seed in args.seeds:
            scores = [score + seed / 100 for score in SCORES[args.task].values()]
            rows.append([seed, 32, 2e-5, 3, 1, *scores])
        write_table(output / "results.tsv", *rows)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(module.subprocess, "run", run)
    return ran


def test_every_task_is_run_and_has_its_column(
    rows_of, module, arguments, write_table, pretended, tmp_path, capsys
):
    data, output = tmp_path / "glue", tmp_path / "out"
    folders = {TASKS[task].name: TASKS[task] for task in SCORES} | {"diagnostic": TASKS["ax"]}
    for folder, task in folders.items():
        for name, *_ in task.files.values():
            write_table(data / folder / name)  # nothing reads it
    module.main(arguments({}, "--task", "all", "--data", str(data), "--seeds", "0", "1"))
    assert [*pretended] == ["mrpc", "stsb", "mnli", "wnli"]
    for task, args in pretended.items():
        assert args.seeds == [0, 1] and args.output == str(output / task)
        assert (args.diagnostic is not None) == (task == "mnli")
    columns = {"MNLI-m": 70, "MNLI-mm": 72, "MRPC": 80, "STS-B": 88, "WNLI": 50}
    columns["average of 4"] = (70 + 72 + 80 + 88) / 4
    expected = {(name, str(seed)): columns[name] + seed for name in columns for seed in (0, 1)}
    rows = rows_of(output / "glue.csv")
    found = {(row["metric"], row["seed"]): float(row["value"]) for row in rows}
    assert found == pytest.approx(expected)
    [own] = [line for line in (output / "glue.md").read_text().splitlines() if "80.5 ±" in line]
    assert "| 80.5 ± 0.7 |" in own and own in capsys.readouterr().out
    with zipfile.ZipFile(output / "submission.zip") as file:
        assert sorted(file.namelist()) == ["mnli.tsv", "mrpc.tsv", "stsb.tsv", "wnli.tsv"]


def test_a_lucky_seed_and_a_setting_that_diverged_do_not_win(write_table, tmp_path):
    rows = """0 16 2e-5 3 1 0.80 0.70 0.75
    0 16 2e-5 3 2 0.70 0.60 0.65
    1 16 2e-5 3 1 0.82 0.72 0.77
    0 32 2e-5 3 1 0.90 0.80 0.85
    0 32 5e-5 3 1 0.90 0.80 0.85
    1 32 5e-5 3 1 nan nan nan"""
    rows = [[*RESULTS, *SCORES["mrpc"]], *map(str.split, rows.splitlines())]
    write_table(tmp_path / "mrpc/results.tsv", *rows)
    found = [(s["metric"], s["seed"], s["value"]) for s in read_glue_results(tmp_path)]
    assert found[:2] == [("MRPC", 0, 80.0), ("MRPC", 1, 82.0)]


def test_the_whole_of_table_1_has_the_average_of_the_paper(write_table, tmp_path):
    names = [*RESULTS, "f1", "accuracy", "mismatched_accuracy", "mcc", "spearman", "score"]
    for task in ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"):
        write_table(tmp_path / task / "results.tsv", names, [0, 16, 2e-5, 3, 1, *[0.5] * 6])
    *columns, average = read_glue_results(tmp_path)
    assert len(columns) == 9 and (average["metric"], average["value"]) == ("average", 50.0)
