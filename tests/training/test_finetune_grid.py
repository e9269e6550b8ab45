import csv
import json

import pytest

from keras_bert.training.finetune_grid import finetune_grid

RUNS = [{"size": size, "rate": rate} for size in (1, 2) for rate in (0.5, 0.25)]


class Trainer:
    """Trains nothing: the scores of a run are rate * size and half of it, its model is its name.

    Stops at the given call as a machine would, behind having written its checkpoint.
    """

    def __init__(self, cut_at=None):
        self.calls, self.cut_at = [], cut_at

    def __call__(self, settings, folder):
        self.calls.append(settings)
        for part in ("best", "checkpoints"):
            (folder / part).mkdir(parents=True, exist_ok=True)
            (folder / part / "model").write_text(folder.name)
        if len(self.calls) == self.cut_at:
            raise KeyboardInterrupt
        score = settings["rate"] * settings["size"]
        return [{"f1": score / 2, "score": score}, {"f1": score, "score": score / 2}]


def rows_of(output):
    with open(output / "results.tsv") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_best_of_all_runs_is_kept_and_all_are_in_the_table(tmp_path):
    results = finetune_grid(tmp_path, RUNS, Trainer(), select="score")
    best = {"size": 2, "rate": 0.5, "epoch": 1, "f1": 0.5, "score": 1.0}
    assert results[0] == best == json.loads((tmp_path / "best.json").read_text())
    assert [result["score"] for result in results] == [1.0, 0.5, 0.5, 0.25]
    assert (tmp_path / "best" / "model").read_text() == "size=2-rate=0.5"
    rows = rows_of(tmp_path)
    assert len(rows) == 2 * len(RUNS)
    assert list(rows[0].items()) == [
        *(("size", "1"), ("rate", "0.5"), ("epoch", "1"), ("f1", "0.25"), ("score", "0.5"))
    ]


def test_no_score_is_worse_than_nan(tmp_path):
    nan = float("nan")
    scores = {1: [nan, nan], 2: [nan, 0.2, 0.9, 0.4], 3: [0.8, nan], 4: [nan]}

    def train(settings, folder):
        Trainer()({"size": 1, "rate": 1}, folder)
        return [{"f1": score} for score in scores[settings["run"]]]

    results = finetune_grid(tmp_path, [{"run": run} for run in scores], train, select="f1")
    best = [(result["run"], result["epoch"]) for result in results]
    assert best == [(2, 3), (3, 1), (1, 1), (4, 1)]
    assert json.loads((tmp_path / "best.json").read_text()) == results[0]
    assert (tmp_path / "best" / "model").read_text() == "run=2"


def test_of_equal_runs_the_first_is_kept(tmp_path):
    finetune_grid(tmp_path, [RUNS[0], RUNS[3]], Trainer(), select="score")
    assert (tmp_path / "best" / "model").read_text() == "size=1-rate=0.5"


def test_finished_runs_leave_neither_models_nor_checkpoints(tmp_path):
    finetune_grid(tmp_path, RUNS, Trainer(), select="score")
    assert len(list((tmp_path / "runs").iterdir())) == 4
    assert {path.name for path in tmp_path.glob("runs/*/*")} == {"finished.json"}
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("cut_at", [1, 3, 4])
def test_started_again_it_passes_over_what_is_finished(tmp_path, cut_at, capsys):
    finetune_grid(tmp_path / "whole", RUNS, Trainer(), select="score")
    output, cut, again = tmp_path / "parted", Trainer(cut_at), Trainer()
    with pytest.raises(KeyboardInterrupt):
        finetune_grid(output, RUNS, cut, select="score")
    assert (output / "runs" / "size=1-rate=0.5" / "checkpoints").exists() == (cut_at == 1)
    capsys.readouterr()
    finetune_grid(output, RUNS, again, select="score")
    assert cut.calls[:-1] + again.calls == RUNS
    assert capsys.readouterr().out.count(" is done") == cut_at - 1
    assert rows_of(output) == rows_of(tmp_path / "whole")
    assert (output / "best" / "model").read_text() == "size=2-rate=0.5"


@pytest.mark.parametrize("step", range(14))
def test_cut_between_any_two_writes_it_ends_with_the_same(tmp_path, monkeypatch, step):
    import os

    from keras_bert.training import finetune_grid as module

    left = iter(range(step))

    def cut(real):
        def write(*args):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return real(*args)

        return write

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "replace", cut(os.replace))
        patch.setattr(module.os, "rename", cut(os.rename))
        with pytest.raises(KeyboardInterrupt):
            finetune_grid(tmp_path, RUNS, Trainer(), select="score")
    results = finetune_grid(tmp_path, RUNS, Trainer(), select="score")
    assert results[0]["score"] == 1.0 and len(results) == 4
    assert (tmp_path / "best" / "model").read_text() == "size=2-rate=0.5"
    assert len(rows_of(tmp_path)) == 8
    assert {path.name for path in tmp_path.glob("runs/*/*")} == {"finished.json"}


def test_other_runs_add_to_those_that_are_there(tmp_path):
    finetune_grid(tmp_path, RUNS[2:3], Trainer(), select="score")
    more = Trainer()
    results = finetune_grid(tmp_path, RUNS, more, select="score")
    assert len(more.calls) == 3 and len(results) == 4
    assert (tmp_path / "best" / "model").read_text() == "size=2-rate=0.5"


def test_runs_of_something_else_are_not_mixed_in(tmp_path):
    finetune_grid(tmp_path, RUNS[:1], Trainer(), select="score", shared={"task": "rte", "n": 1})
    untrained = Trainer()
    with pytest.raises(ValueError, match=r"other settings: task='cola' \(there 'rte'\)\. Use"):
        finetune_grid(tmp_path, RUNS, untrained, select="score", shared={"task": "cola", "n": 1})
    assert not untrained.calls


@pytest.mark.parametrize("runs", [[], [{"a": 1}, {"b": 1}]])
def test_runs_must_be_alike(tmp_path, runs):
    with pytest.raises(ValueError, match="same keys"):
        finetune_grid(tmp_path, runs, Trainer(), select="score")
