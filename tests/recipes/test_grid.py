import dataclasses
import json
import os

import pytest

import keras_bert
from glue import grid as module
from keras_bert import Batching, FineTuning
from keras_bert.training.divergence import DivergedError

SETTINGS = FineTuning(select="score")
GRID = {"batch_size": [1, 2], "learning_rate": [0.5, 0.25]}


@pytest.fixture
def calls():
    """The settings of the runs that trained."""
    return []


@pytest.fixture
def run_grid(monkeypatch, calls):
    """`finetune_grid` with a trainer that makes no model in place of `finetune`.

    The scores of a run are rate * size and half of it; its model is its name.
    """

    def finetune(model, train, dev, folder, settings, *, batching, strategy):
        calls.append(settings)
        if settings.learning_rate == 1:
            raise DivergedError("The loss became nan at step 1.")
        for part in ("best", "checkpoints"):
            (folder / part).mkdir(parents=True, exist_ok=True)
            (folder / part / "model").write_text(folder.name)
        score = settings.learning_rate * batching.batch_size
        return [{"f1": score / 2, "score": score}, {"f1": score, "score": score / 2}]

    monkeypatch.setattr(module.gc, "collect", lambda: None)
    monkeypatch.setattr(keras_bert, "finetune", finetune, raising=False)
    strategy = keras_bert.get_strategy("single")

    def run(output, grid, settings=SETTINGS, shared=()):
        fixed = {"strategy": strategy, "batching": Batching(), "shared": dict(shared)}
        return module.finetune_grid(
            lambda: None, "train", "dev", output, settings, grid=grid, **fixed
        )

    return run


def test_a_run_that_diverges_does_not_stop_the_others(rows_of, run_grid, tmp_path, capsys):
    results = run_grid(tmp_path, {"learning_rate": [1, 0.25]})
    assert "The run diverged. The loss became nan at step 1." in capsys.readouterr().out
    assert [result["learning_rate"] for result in results] == [0.25, 1]
    assert json.loads((tmp_path / "best.json").read_text()) == results[0]
    found = [(row["learning_rate"], row["f1"]) for row in rows_of(tmp_path / "results.tsv")]
    assert found == [("1", "nan"), ("0.25", "4.0"), ("0.25", "8.0")]


def test_cut_between_any_two_writes_it_ends_with_the_best_of_all(
    rows_of, run_grid, tmp_path, monkeypatch
):
    for step in range(13):
        output, left = tmp_path / str(step), iter(range(step))

        def cut(real, left=left):
            def write(*args):
                if next(left, None) is None:
                    raise KeyboardInterrupt
                return real(*args)

            return write

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", cut(os.replace))
            patch.setattr(os, "rename", cut(os.rename))
            with pytest.raises(KeyboardInterrupt):
                run_grid(output, GRID)
        results = run_grid(output, GRID)
        best = {
            "batch_size": 2,
            "learning_rate": 0.5,
            "epoch": 1,
            "f1": 0.5,
            "score": 1.0,
        }
        assert results[0] == best == json.loads((output / "best.json").read_text())
        assert [result["score"] for result in results] == [1.0, 0.5, 0.5, 0.25]
        assert (output / "best" / "model").read_text() == "batch_size=2-learning_rate=0.5"
        assert len(rows_of(output / "results.tsv")) == 8
        assert {path.name for path in output.glob("runs/*/*")} == {"finished.json"}


def test_other_values_add_their_runs(run_grid, calls, tmp_path, refused):
    run_grid(tmp_path, {"batch_size": [2], "learning_rate": [0.5]})
    assert len(run_grid(tmp_path, GRID)) == len(calls) == 4
    more = dataclasses.replace(SETTINGS, epochs=9), {"task": "cola"}
    message = r"task='cola' \(there None\), epochs=9 \(there 3\)"
    refused(f"other settings: {message}", run_grid, tmp_path, GRID, *more)
    refused("epochs", run_grid, tmp_path, {"epochs": [1, 0]})
    assert len(calls) == 4
