"""Learning curves of runs."""

import json
import re
import sys

import numpy as np
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


def grid_of(folder):
    """A grid of four runs, of which the third is the best, in folders as of `finetune_grid`."""
    for rate in (5e-5, 2e-5):
        for epochs in (2, 3):
            settings = {"seed": 0, "learning_rate": rate, "epochs": epochs}
            run = folder / "runs" / f"{rate}-{epochs}"
            TrainingCurves(run / "logs").write(10, {"loss": epochs * rate})
            finished = {"settings": settings, "scores": [{"score": 0.5}]}
            (run / "finished.json").write_text(json.dumps(finished))
    best = {"seed": 0, "learning_rate": 2e-5, "epochs": 2, "epoch": 1, "score": 0.5}
    (folder / "best.json").write_text(json.dumps(best))
    (folder / "runs" / "unfinished").mkdir()
    return folder


def test_the_best_run_of_a_grid_stands_out(tmp_path, capsys):
    grid = grid_of(tmp_path)
    figure = plot_curves(grid)
    [panel] = figure.axes
    best, *others = panel.lines
    assert np.isclose(best.get_ydata()[0], 4e-5) and len(others) == 3
    assert {line.get_color() for line in others} == {"#999999"} != {best.get_color()}
    shown = [text.get_text() for text in panel.get_legend().get_texts()]
    assert shown == ["learning_rate 2e-05, epochs 2", "3 others"]
    draw_run(grid)
    assert f"Curves: {grid / 'curves.png'}" in capsys.readouterr().out
    (grid / "best.json").unlink()  # as after a kill
    assert len(plot_curves(grid).axes[0].get_legend().get_texts()) == 4


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"settings": 1, "scores": []}', '{"settings": {}, "scores": ["a"]}'],
)
def test_a_foreign_result_of_a_grid_is_named(tmp_path, capsys, content):
    path = next(grid_of(tmp_path).glob("runs/*/finished.json"))
    path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        plot_curves(tmp_path)
    draw_run(tmp_path)
    assert f"No curves.png: {path}" in capsys.readouterr().out


def test_a_picture_without_room_never_stops_a_run(runs, capsys, full_disk):
    draw_run(runs / "bert")
    assert "No curves.png: " in capsys.readouterr().out
    assert [path.name for path in (runs / "bert").iterdir()] == ["logs"]


def test_damaged_events_are_no_curves(runs):
    [events] = (runs / "causal").iterdir()
    events.write_bytes(events.read_bytes()[:9])
    with pytest.raises(ValueError, match="causal has no curves"):
        plot_curves(runs / "causal")


def test_a_run_may_be_chosen_to_stand_out(runs):
    folders = {"masked": runs / "bert", "causal": runs / "causal"}
    [panel] = plot_curves(folders, names=["loss"], best="causal").axes
    assert [line.get_color() == "#999999" for line in panel.lines] == [False, True]
    with pytest.raises(ValueError, match="best must be one of 'masked', 'causal'; got 'bert'"):
        plot_curves(folders, best="bert")


def test_the_names_of_many_runs_cover_no_line(tmp_path):
    for number in range(30):
        TrainingCurves(tmp_path / str(number)).write(1, {"loss": number, "accuracy": 0.5})
    figure = plot_curves([tmp_path / str(number) for number in range(30)])
    figure.draw_without_rendering()
    legend = [panel.get_legend() for panel in figure.axes if panel.get_legend()]
    assert len(legend) == 1 and len(legend[0].get_texts()) == 30
    box = legend[0].get_window_extent()
    assert not any(box.overlaps(panel.get_window_extent()) for panel in figure.axes)
    assert figure.bbox.contains(*box.min) and figure.bbox.contains(*box.max)
    assert len({str(line.get_color()) for line in figure.axes[0].lines}) == 30


def test_folders_without_curves_and_unknown_names_are_refused(runs, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "absent"):
        with pytest.raises(ValueError, match=f"{folder.name} has no curves"):
            plot_curves([runs / "bert", folder], tmp_path / "none.svg")
    with pytest.raises(ValueError, match="No run has a curve 'lose'; there are loss, learning_ra"):
        plot_curves(runs / "bert", tmp_path / "none.svg", ["lose"])
    assert not (tmp_path / "none.svg").exists()
