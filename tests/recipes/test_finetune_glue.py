import itertools
import json

import numpy as np
import pytest

NLI_HEADER = ["index", "sentence1", "sentence2", "gold_label"]


def arguments(preset, task, folder, output, *more):
    return [
        "--init", str(preset), "--task", task, "--data", str(folder), "--output", str(output),
        "--sequence_length", "12", "--batch_sizes", "8", *more,
    ]  # fmt: skip


@pytest.mark.slow
def test_the_best_of_a_grid_is_kept_with_its_answers(
    rows_of, module, preset, sst2, tmp_path, refused
):
    options = ["--learning_rates", "1e-5", "1e-2", "--epochs", "3"]
    module.main(arguments(preset, "sst2", sst2, tmp_path, *options))
    rows = rows_of(tmp_path / "results.tsv")
    assert [(row["learning_rate"], row["epoch"]) for row in rows] == [
        *itertools.product(["1e-05", "0.01"], "123")
    ]
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["score"] == max(float(row["score"]) for row in rows) == 1.0
    assert best["learning_rate"] == 0.01
    answers = rows_of(tmp_path / "submission" / "SST-2.tsv")
    assert [(row["index"], row["prediction"]) for row in answers] == [
        (str(i), str(i % 2)) for i in range(6)
    ]
    assert len(rows_of(tmp_path / "dev" / "SST-2.tsv")) == 12
    left = {path.name for path in tmp_path.glob("runs/*/*")}  # of two runs, without their models
    assert left == {"finished.json", "scores.json", "settings.json", "dev_predictions.tsv"}
    other = arguments(preset, "sst2", sst2, tmp_path, *options, "--sequence_length", "16")
    refused(r"sequence_length=16 \(there 12\)", module.main, other)


@pytest.fixture
def mnli(write_table, tmp_path):
    folder, labels = tmp_path / "MNLI", ["contradiction", "entailment", "neutral"]
    rows = [[i, f"it is {i}", "so it is", labels[i % 3]] for i in range(24)]
    for split, count in (("train", 24), ("dev_matched", 6), ("dev_mismatched", 9)):
        write_table(folder / f"{split}.tsv", NLI_HEADER, *rows[:count])
    for split, count in (("test_matched", 4), ("test_mismatched", 5), ("diagnostic", 3)):
        write_table(folder / f"{split}.tsv", *(row[:3] for row in [NLI_HEADER, *rows[:count]]))
    return folder


def test_mnli_has_two_dev_sets_and_three_to_answer(module, preset, mnli, capsys):
    more = ["--diagnostic", str(mnli)]
    args = module.parse_args(arguments(preset, "mnli", mnli, "unused", *more))
    train, dev, tests = module.read_splits(args)
    assert (len(train), [len(part) for part in dev]) == (24, [6, 9])
    assert [(part.task, len(part)) for part in tests] == [("MNLI", 4), ("MNLI", 5), ("AX", 3)]
    assert "MNLI dev_mismatched: 9 examples" in capsys.readouterr().out
    scores = module.score(dev, np.concatenate([dev[0].labels, np.zeros(9, int)]))
    assert scores == pytest.approx({"accuracy": 1.0, "mismatched_accuracy": 1 / 3, "score": 2 / 3})


def test_the_grid_is_that_of_the_paper(module):
    def values(options):
        needed = "--init x --task rte --data y --output z"
        return [*module.grid_of(module.parse_args(f"{needed} {options}".split())).values()]

    assert values("--seed 4") == [[4], [32], [2e-5], [3]]
    paper = [[16, 32], [5e-5, 3e-5, 2e-5], [2, 3, 4]]
    assert values("--grid") == [[0], *paper]
    assert values("--grid --seeds 0 1 --epoch_counts 3") == [[0, 1], *paper[:2], [3]]
    assert values("--grid --tokens_per_batch 4096") == [[0], [32], *paper[1:]]
