"""Pictures of learning curves, from what training writes for TensorBoard."""

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from keras_bert.messages import check_one_of
from keras_bert.pictures.drawing import Figure, new_figure, plain, save_figure


def plot_curves(
    runs: str | os.PathLike | Mapping[str, str | os.PathLike],
    path: str | os.PathLike | None = None,
    names: Sequence[str] | None = None,
    by: str = "steps",
) -> Figure:
    """Draws the learning curves of runs: a panel for each name, a line for each run.

    `tensorboard --logdir FOLDER` shows them while the run trains.

    Args:
        runs: a run's folder, or several as `{label: folder}`: the output folder of `finetune` or of
            a recipe, or the folder of a `TrainingCurves`.
        path: the file to write, such as `.svg` or `.png`; or None.
        names: curves to draw, such as `["loss", "validation/loss"]`; None means all that a run has,
            without the learning rate and the speed.
        by: "steps", or "minutes" since a run first started, with its pauses.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if a folder has no curves, no run has a name, or `by` is another word.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_curves({"masked": "bert", "left to right": "causal"}, "curves.svg", ["validation/loss"])
    ```
    """
    check_one_of("by", by, ("steps", "minutes"))
    if isinstance(runs, (str, os.PathLike)):
        runs = {Path(runs).name: runs}
    curves = {label: _read(Path(folder), by) for label, folder in runs.items()}
    known = list(dict.fromkeys(itertools.chain(*curves.values())))
    if names is None:
        names = [name for name in known if name not in ("learning_rate", "tokens_per_second")]
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"No run has the curves {missing}; there are {', '.join(known)}.")
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = new_figure(3.6 * columns, 2.6 * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        for label, run in curves.items():
            curve = run.get(name, {})
            panel.plot(list(curve), list(curve.values()), label=plain(label))
        panel.set_title(plain(name, 40), fontsize=10)
        panel.set_xlabel(by, fontsize=8)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.3)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    if len(curves) > 1:
        panels[0].legend(fontsize=8)
    return save_figure(figure, path)


def _read(folder, by):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for logs in (folder, folder / "logs"):
        if not any(logs.glob("events.out.tfevents.*")):
            continue
        events = EventAccumulator(str(logs), size_guidance={"scalars": 0})
        events.Reload()
        curves = {}
        for name in events.Tags()["scalars"]:
            start = events.FirstEventTimestamp()  # an error if there are no events
            curve = {}
            start = events.FirstEventTimestamp()  # an error if there is none
            for point in events.Scalars(name):
                minutes = (point.wall_time - start) / 60
                curve[point.step if by == "steps" else minutes] = point.value
            curves[name] = curve
        if curves:
            return curves
    raise ValueError(
        f"{folder} has no curves. Give the output folder of a run, or that of a TrainingCurves."
    )
