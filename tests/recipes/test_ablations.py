"""The recipe of the paper's ablations, with recipes that pretend to run."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from paper import run_once


@pytest.fixture
def data(tmp_path):
    """Arguments with data of every kind, which nothing reads."""
    files = "corpus/corpus.json heldout/corpus.json tags/train.txt tags/dev.txt "
    files += "squad/train-v1.1.json squad/dev-v1.1.json glue/RTE/train.tsv glue/RTE/dev.tsv"
    for file in [*files.split(), "minimal_pairs/a.txt"]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("it rain\nit rains\n")
    names = ("corpus", "heldout", "tags", "squad", "glue", "minimal_pairs")
    return [word for name in names for word in (f"--{name}", str(tmp_path / name))]


@pytest.fixture
def pretended(module, write_table, monkeypatch):
    """Commands that were run; each leaves the files that the recipe would."""
    commands = []

    def run(process, stdout, stderr):
        command = [Path(process[1]).stem, *process[2:]]
        commands.append(command)
        folder = Path(command[command.index("--output") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        seed = int(command[command.index("--seed") + 1]) if "--seed" in command else 0
        if command[0] == "score_texts":
            scores = {"perplexity": 50.0, "minimal_pairs": 0.625}
            (folder / "scores.json").write_text(json.dumps(scores))
        elif command[0] == "finetune_glue":
            names, values = "seed batch_size learning_rate epochs accuracy score", (seed, 32, 1, 3)
            rows = [names.split(), (*values, 0.6, 0.6), (*values, 0.65, 0.65)]
            write_table(folder / "rte/results.tsv", *rows)
        elif command[0] != "pretrain_tpu":
            f1 = 80.0 + seed if command[0] == "finetune_squad" else 0.8 + seed / 100
            (folder / "scores.json").write_text(json.dumps([{"f1": f1 - 0.1}, {"f1": f1}]))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(run_once.subprocess, "run", run)
    monkeypatch.setattr("paper.scores._drawn", lambda _: Figure())
    return commands


def test_tables_share_their_variants_and_say_every_command(
    rows_of, module, recipe, data, pretended, tmp_path, capsys
):
    tables = ["--table", "5", "6", "8", "figure5", *data]
    options = [*tables, "--output", str(tmp_path / "out")]
    module.main([*options, "--dry_run"])
    printed = capsys.readouterr().out.splitlines()
    assert not pretended and not (tmp_path / "out").exists()
    module.main(options)
    ran = [shlex.join(["python", f"recipes/{c[0]}.py", *c[1:]]) for c in pretended]
    assert ran == printed and len({*ran}) == len(ran)
    trained = [command for command in pretended if command[0] == "pretrain_tpu"]
    assert len(trained) == 7  # BERT, no NSP, three other mixes and two other sizes
    assert len([command for command in trained if "--no_next_sentence" in command]) == 1
    lines = (tmp_path / "out/table5.md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("| BERT |")]
    assert "81.0 ± 1.0" in line and line.endswith("| 84.4 | 88.4 | 86.7 | 92.7 | 88.5 |")
    scores = rows_of(tmp_path / "out/table5.csv")
    assert {float(s["value"]) for s in scores if s["metric"] == "RTE"} == {65.0}
    steps = {int(score["step"]) for score in rows_of(tmp_path / "out/figure5.csv")}
    assert steps == {1000, 2000, 3000}
    paper = ["--scale", "paper", "--probe_seeds", "1", "--output", str(tmp_path / "paper")]
    module.main([*tables, *paper])
    for name, *command in pretended:  # all are commands that their recipes take
        recipe(name).parse_args(command)
