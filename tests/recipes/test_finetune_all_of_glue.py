"""`finetune_glue.py --task all`, with tasks that pretend to run, and with a real one."""

import csv
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import keras_bert

SPLITS = {"MNLI": ["train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched"]}
HEADER = "seed\tbatch_size\tlearning_rate\tepochs\tepoch\t"
SCORES = {  # of seed 0 with the better setting
    "mnli": {"accuracy": 0.7, "mismatched_accuracy": 0.72, "score": 0.71},
    "mrpc": {"f1": 0.8, "accuracy": 0.7, "score": 0.75},
    "stsb": {"pearson": 0.9, "spearman": 0.88, "score": 0.89},
    "wnli": {"accuracy": 0.5, "score": 0.5},
}


@pytest.fixture
def module(recipe):
    return recipe("finetune_glue")


@pytest.fixture
def data(tmp_path):
    """Folders of four tasks and of the diagnostic set, whose files nothing reads."""
    for task in ("MNLI", "MRPC", "STS-B", "WNLI"):
        (tmp_path / "glue" / task).mkdir(parents=True)
        for split in SPLITS.get(task, ["train", "dev", "test"]):
            (tmp_path / "glue" / task / f"{split}.tsv").touch()
    (tmp_path / "glue/diagnostic").mkdir()
    (tmp_path / "glue/diagnostic/diagnostic.tsv").touch()
    return tmp_path / "glue"


@pytest.fixture
def pretended(module, monkeypatch):
    """Arguments of the tasks that were run, `{task: args}`; `fails` names those that fail."""
    pretend = SimpleNamespace(ran={}, fails=[])

    def run(process):
        args = module.parse_args(process[2:])
        pretend.ran[args.task] = args
        if args.task in pretend.fails:
            return SimpleNamespace(returncode=1)
        (Path(args.output) / "submission").mkdir(parents=True, exist_ok=True)
        (Path(args.output) / f"submission/{args.task}.tsv").write_text("index\tprediction\n")
        names = [*SCORES[args.task]]
        lines = [HEADER + "\t".join(names)]
        for seed in args.seeds:
            for rate, worse in ((1e-5, 0.3), (2e-5, 0.0)):
                for epoch, late in ((1, 0.1), (2, 0.0), (3, 0.05)):
                    found = [SCORES[args.task][n] + seed / 100 - worse - late for n in names]
                    lines.append("\t".join(map(str, [seed, 32, rate, 3, epoch, *found])))
        (Path(args.output) / "results.tsv").write_text("\n".join(lines) + "\n")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(module.subprocess, "run", run)
    return pretend


def arguments(data, output, *more):
    line = ["--task", "all", "--init", "bert", "--data", str(data), "--output", str(output)]
    return [*line, "--seeds", "0", "1", "--learning_rates", "1e-5", "2e-5", *more]


def test_every_task_is_run_and_has_its_column(module, data, pretended, tmp_path, capsys):
    module.main(arguments(data, tmp_path / "out"))
    assert [*pretended.ran] == ["mrpc", "stsb", "mnli", "wnli"]
    for task, args in pretended.ran.items():
        assert args.seeds == [0, 1] and args.output == str(tmp_path / "out" / task)
        assert (args.diagnostic is not None) == (task == "mnli")
    with open(tmp_path / "out/glue.csv") as file:
        found = {(row["metric"], int(row["seed"])): row["value"] for row in csv.DictReader(file)}
    expected = {"MNLI-m": 70, "MNLI-mm": 72, "MRPC": 80, "STS-B": 88, "WNLI": 50}
    expected["average of 4"] = (70 + 72 + 80 + 88) / 4
    for metric, value in expected.items():
        for seed in (0, 1):
            assert np.isclose(float(found.pop((metric, seed))), value + seed)
    assert not found
    [own] = [
        line
        for line in (tmp_path / "out/glue.md").read_text().splitlines()
        if line.startswith("| bert |")
    ]
    assert "| 80.5 ± 0.7 |" in own and own in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "out/submission.zip") as file:
        assert sorted(file.namelist()) == ["mnli.tsv", "mrpc.tsv", "stsb.tsv", "wnli.tsv"]


def test_a_task_that_fails_is_named_and_the_others_are_kept(module, data, pretended, tmp_path):
    pretended.fails = ["stsb"]
    with pytest.raises(ValueError, match="These tasks failed, see above: stsb. Rerun to resume"):
        module.main(arguments(data, tmp_path / "out"))
    assert [*pretended.ran] == ["mrpc", "stsb", "mnli", "wnli"]
    assert "MRPC" in (tmp_path / "out/glue.md").read_text()
    assert not (tmp_path / "out/submission.zip").exists()


def test_the_average_is_that_of_the_paper():
    for row in keras_bert.paper_table("1").values():
        *columns, average = map(float, row.values())
        assert len(columns) == 9 and abs(np.mean(columns) - average) < 0.051


def test_what_is_missing_is_said_before_anything_runs(module, data, pretended, tmp_path):
    (data / "MRPC/test.tsv").unlink()
    with pytest.raises(ValueError, match="MRPC/test.tsv. Without test sets, give --no_test"):
        module.main(arguments(data, tmp_path / "out"))
    module.main(arguments(data, tmp_path / "out", "--no_test"))
    (data / "MRPC/dev.tsv").unlink()
    with pytest.raises(ValueError, match="missing: .*MRPC/dev.tsv"):
        module.main(arguments(data, tmp_path / "other", "--no_test"))
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "absent"):
        with pytest.raises(ValueError, match="has no folder of a GLUE task: CoLA, SST-2, MRPC"):
            module.main(arguments(folder, tmp_path / "other"))
    with pytest.raises(ValueError, match="has no results of a GLUE task"):
        keras_bert.read_glue_results(tmp_path / "empty")
    assert not (tmp_path / "other").exists()


def test_tensorflow_datasets_are_one_task_at_a_time(module, capsys):
    with pytest.raises(SystemExit):
        module.parse_args(["--task", "all", "--init", "b", "--output", "o", "--source", "tfds"])
    assert "--task all reads folders of TSV files" in capsys.readouterr().err


@pytest.mark.slow
def test_a_real_task_gets_its_table(module, preset, tmp_path):
    folder = tmp_path / "glue/SST-2"
    folder.mkdir(parents=True)
    for split in ("train", "dev"):
        rows = [f"the book was {['bad', 'good'][i % 2]} .\t{i % 2}" for i in range(40)]
        (folder / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *rows, ""]))
    module.main([
        "--task", "all", "--init", str(preset), "--data", str(folder.parent), "--no_test",
        "--output", str(tmp_path / "out"), "--sequence_length", "12", "--batch_size", "8",
        "--learning_rate", "1e-2", "--epochs", "2", "--strategy", "cpu",
    ])  # fmt: skip
    score, average = keras_bert.read_glue_results(tmp_path / "out")
    with open(tmp_path / "out/sst2/results.tsv") as file:
        best = max(float(epoch["accuracy"]) for epoch in csv.DictReader(file, delimiter="\t"))
    assert score == {"metric": "SST-2", "seed": 0, "value": 100 * best}
    assert average["metric"] == "average of 1"
    header, _, *lines = (tmp_path / "out/glue.md").read_text().splitlines()
    assert header.startswith("|  | SST-2 | average of 1 | MNLI-m |") and header.count("SST-2") == 1
    assert "| 93.5 |" in lines[1]
