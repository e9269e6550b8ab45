"""The recipe of the paper's ablations, with recipes that pretend to run."""

import json
from pathlib import Path

from matplotlib.figure import Figure

from paper.run_once import run_once

FILES = "corpus/corpus.json heldout/corpus.json tags/train.txt tags/dev.txt "
FILES += "squad/train-v1.1.json squad/dev-v1.1.json glue/RTE/train.tsv glue/RTE/dev.tsv "
FILES += "minimal_pairs/a.txt"
EPOCHS = [["seed", "batch_size", "learning_rate", "epochs", "accuracy", "score"]]
EPOCHS += [[0, 32, 1, 3, value, value] for value in (0.6, 0.65)]


def test_tables_share_their_variants_and_say_commands_that_recipes_take(
    module, recipe, write_table, tmp_path, monkeypatch
):
    ran = {}

    def run(script, arguments, output, part="", dry_run=False):
        command = (*map(str, arguments), "--output", str(output))
        assert command not in ran
        ran[command] = Path(script).stem
        recipe(ran[command]).parse_args(command)
        write_table(output / "rte/results.tsv", *EPOCHS)
        scores = [{"f1": 0.7}, {"f1": 0.8}]
        if ran[command] == "score_texts":
            scores = {"perplexity": 50.0, "minimal_pairs": 0.625}
        (output / "scores.json").write_text(json.dumps(scores))

    monkeypatch.setattr(module, "run_once", run)
    monkeypatch.setattr("paper.scores._drawn", lambda _: Figure())
    options = ["--table", "5", "6", "8", "figure5", "--probe_seeds", "1"]
    for file in FILES.split():
        path, name = tmp_path / file, file.split("/")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("it rain\nit rains\n")
        options += [f"--{name}", str(tmp_path / name)]
    for scale, count in (("micro", 7), ("paper", 2 * 12)):  # of one phase and of two
        ran.clear()
        module.main([*options, "--scale", scale, "--output", str(tmp_path / scale)])
        assert [*ran.values()].count("pretrain_tpu") == count
    [line] = [x for x in (tmp_path / "micro/table5.md").open() if x[:8] == "| BERT |"]
    own = "| 50.0 | 62.5 | 80.0 | 0.8 | 65.0 | 65.0 |"
    assert line == f"| BERT {own} 84.4 | 88.4 | 86.7 | 92.7 | 88.5 |\n"
    assert "| Masked LM, step 1,000 |" in (tmp_path / "micro/figure5.md").read_text()


def test_a_script_runs_until_it_has_succeeded_once(write, tmp_path, refused):
    fails, works = write("print(1 / 0)", "fails.py"), write("print('ran')", "works.py")
    refused("failed with status 1. Its output is", run_once, fails, [], tmp_path / "a")
    assert "ZeroDivisionError" in (tmp_path / "a.log").read_text()
    for _ in range(2):
        run_once(works, [1], tmp_path / "a")
        assert (tmp_path / "a.log").read_text().count("ran") == 1
    refused("the result of other settings", run_once, works, [2], tmp_path / "a")
