"""The recipe of the paper's ablations, with recipes that pretend to run."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from paper import run_once

FILES = "corpus/corpus.json heldout/corpus.json tags/train.txt tags/dev.txt "
FILES += "squad/train-v1.1.json squad/dev-v1.1.json glue/RTE/train.tsv glue/RTE/dev.tsv "
FILES += "minimal_pairs/a.txt"


@pytest.fixture
def pretended(write_table, monkeypatch):
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
        return SimpleNamespace(returncode=int(len(commands) == 20))  # one step fails

    monkeypatch.setattr(run_once.subprocess, "run", run)
    monkeypatch.setattr("paper.scores._drawn", lambda _: Figure())
    return commands


def test_tables_share_their_variants_and_say_every_command(
    rows_of, module, recipe, pretended, tmp_path, capsys, refused
):
    tables = ["--table", "5", "6", "8", "figure5"]
    for path in (tmp_path / file for file in FILES.split()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("it rain\nit rains\n")
    for name in ("corpus", "heldout", "tags", "squad", "glue", "minimal_pairs"):
        tables += [f"--{name}", str(tmp_path / name)]
    output = tmp_path / "out"
    options = [*tables, "--output", str(output)]
    module.main([*options, "--dry_run"])
    printed = capsys.readouterr().out.splitlines()
    assert not pretended and not output.exists()
    refused("failed with status 1", module.main, options)
    assert "| BERT |" in (output / "table5.md").read_text()  # what is known
    module.main(options)  # resumes
    ran = [shlex.join(["python", f"recipes/{c[0]}.py", *c[1:]]) for c in pretended]
    assert [*dict.fromkeys(ran)] == printed and len(ran) == len(printed) + 1
    trained = [command for command in printed if "/pretrain_tpu.py" in command]
    assert len(trained) == 7  # BERT, no NSP, three other mixes and two other sizes
    assert len([command for command in trained if "--no_next_sentence" in command]) == 1
    [line] = [x for x in (output / "table5.md").read_text().splitlines() if x[:8] == "| BERT |"]
    assert "81.0 ± 1.0" in line and line.endswith("| 84.4 | 88.4 | 86.7 | 92.7 | 88.5 |")
    scores = rows_of(output / "table5.csv")
    assert {float(s["value"]) for s in scores if s["metric"] == "RTE"} == {65.0}
    steps = {int(score["step"]) for score in rows_of(output / "figure5.csv")}
    assert steps == {1000, 2000, 3000}
    table = (output / "table5.md").read_text()
    module.main(options)  # rerun: everything is done
    assert len(pretended) == len(ran) and (output / "table5.md").read_text() == table
    paper = ["--scale", "paper", "--probe_seeds", "1", "--output", str(tmp_path / "paper")]
    module.main([*tables, *paper])
    for name, *command in pretended:  # all are commands that their recipes take
        recipe(name).parse_args(command)
