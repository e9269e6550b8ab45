"""Learning curves of runs."""

import re

import pytest

from keras_bert.callbacks import TrainingCurves
from keras_bert.pictures import plot_curves


@pytest.fixture
def runs(tmp_path):
    """Two runs, one in the folder of a recipe's output."""
    for folder, gain in (("bert/logs", 1.0), ("causal", 2.0)):
        curves = TrainingCurves(tmp_path / folder)
        for step in (10, 20, 30):
            curves.write(step, {"loss": 5 - gain * step / 10, "learning_rate": 1e-4})
        curves.write(30, {"validation/loss": 4.5 - gain})
    return tmp_path


def words(path):
    return re.findall(r"<!-- (.*?) -->", path.read_text())


@pytest.mark.parametrize("folder", ["bert", "bert/logs"])
def test_curves_are_read_from_a_run_or_its_events(runs, folder):
    loss, validation = plot_curves(runs / folder).axes
    assert loss.lines[0].get_xydata().tolist() == [[10, 4], [20, 3], [30, 2]]
    assert validation.lines[0].get_xydata().tolist() == [[30, 3.5]]


def test_a_file_of_a_run_that_was_killed_before_its_first_point_is_skipped(runs, refused):
    (runs / "bert" / "events.out.tfevents.0").touch()
    assert plot_curves(runs / "bert").axes
    (runs / "empty").mkdir()
    (runs / "empty" / "events.out.tfevents.0").touch()
    refused("empty has no curves", plot_curves, runs / "empty")


def test_curves_by_minutes_begin_with_the_run(tmp_path, monkeypatch):
    curves = TrainingCurves(tmp_path)
    for step, now in ((10, 1000.0), (20, 1090.0)):
        monkeypatch.setattr("keras_bert.callbacks.time.time", lambda now=now: now)
        curves.write(step, {"loss": 5 - step / 10})
    (panel,) = plot_curves(tmp_path, by="minutes").axes
    assert panel.lines[0].get_xydata().tolist() == [[0, 4], [1.5, 3]]
    assert panel.get_xlabel() == "minutes"


def test_runs_are_lines_and_names_are_panels(runs, tmp_path):
    both = {"masked": runs / "bert", "causal": runs / "causal"}
    plot_curves(both, tmp_path / "all.svg")
    found = words(tmp_path / "all.svg")
    assert {"masked", "causal", "loss", "validation/loss"} <= {*found}
    assert "learning_rate" not in found
    [panel] = plot_curves(both, names=["learning_rate"]).axes
    assert panel.get_title() == "learning_rate"


def test_folders_without_curves_and_unknown_names_are_refused(runs, tmp_path, refused):
    [events] = (runs / "causal").iterdir()
    events.write_bytes(events.read_bytes()[:9])
    refused("causal has no curves", plot_curves, runs / "causal")
    refused("absent has no curves", plot_curves, tmp_path / "absent", tmp_path / "none.svg")
    with pytest.raises(ValueError, match="'lose'.*loss, learning_rate"):
        plot_curves(runs / "bert", tmp_path / "none.svg", ["lose"])
    refused("by must be one of 'steps', 'minutes'", plot_curves, runs / "bert", by="hours")
    assert not (tmp_path / "none.svg").exists()
