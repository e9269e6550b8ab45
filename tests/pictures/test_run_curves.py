"""Learning curves of runs."""

import re
import sys

import pytest

from keras_bert import TrainingCurves, draw_run, plot_curves, read_curves


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


def test_curves_are_read_from_a_run_or_its_events(runs):
    for folder in (runs / "bert", runs / "bert/logs"):
        curves = read_curves(folder)
        assert curves["loss"] == {10: 4.0, 20: 3.0, 30: 2.0}
        assert curves["validation/loss"] == {30: 3.5} and len(curves["learning_rate"]) == 3


def test_runs_are_lines_and_names_are_panels(runs, tmp_path):
    plot_curves([runs / "bert", runs / "causal"], tmp_path / "all.svg")
    found = words(tmp_path / "all.svg")
    assert {"bert", "causal", "loss", "validation/loss"} <= {*found}
    assert "learning_rate" not in found
    plot_curves({"masked": runs / "bert"}, tmp_path / "one.svg", ["learning_rate"])
    found = words(tmp_path / "one.svg")
    assert {"masked", "learning_rate"} <= {*found} and "loss" not in found
    plot_curves(runs / "bert", tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_a_run_never_stops_it(runs, tmp_path, monkeypatch, capsys):
    draw_run(runs / "bert")
    assert (runs / "bert/curves.png").read_bytes().startswith(b"\x89PNG")
    assert f"Curves: {runs / 'bert/curves.png'}" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    draw_run(tmp_path / "empty")
    draw_run("gs://bucket/run")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    draw_run(runs / "causal")
    printed = capsys.readouterr().out
    assert "empty has no curves" in printed and "keras3-bert[plots]" in printed
    assert not (runs / "causal/curves.png").exists()


def test_folders_without_curves_and_unknown_names_are_refused(runs, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "absent"):
        with pytest.raises(ValueError, match=f"{folder.name} has no curves"):
            plot_curves([runs / "bert", folder], tmp_path / "none.svg")
    with pytest.raises(ValueError, match="No run has a curve 'lose'; there are loss, learning_ra"):
        plot_curves(runs / "bert", tmp_path / "none.svg", ["lose"])
    assert not (tmp_path / "none.svg").exists()
