"""Pictures of learning curves, from what training writes for TensorBoard."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bert.files.json_files import read_json
from keras_bert.pictures.score_pictures import plot_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def read_curves(folder: str | os.PathLike) -> dict[str, dict[int, float]]:
    """Reads the curves of a run.

    Args:
        folder: the output folder of a recipe, or the folder of its events.

    Returns:
        `{name: {step: value}}`, such as those of `loss` and `validation/loss`.

    Raises:
        ValueError: if there are no curves.

    Example:
    >>> import tempfile
    >>> from keras_bert import TrainingCurves
    >>> folder = tempfile.mkdtemp()
    >>> TrainingCurves(folder).write(10, {"loss": 0.5})
    >>> read_curves(folder)
    {'loss': {10: 0.5}}
    """
    folder = Path(folder)
    folders = [each for each in (folder, folder / "logs") if _has_events(each)]
    curves = _scalars(folders[0]) if folders else {}
    if not curves:
        raise ValueError(
            f"{folder} has no curves: neither it nor its logs has a file of events with points. "
            "Give the --output of a recipe that trains, or the folder of a TrainingCurves."
        )
    return curves


def plot_curves(
    runs: str | os.PathLike | Sequence[str | os.PathLike] | Mapping[str, str | os.PathLike],
    path: str | os.PathLike | None = None,
    names: Sequence[str] | None = None,
    best: str | None = None,
) -> "Figure":
    """Draws the learning curves of runs: a panel for each name, a line for each run.

    Args:
        runs: the output folder of a recipe, several, or `{label: folder}`; without labels the
            folders' names are shown. Of the folder of a `finetune_grid`, all finished runs are
            drawn, and the best one stands out.
        path: the file to write; its ending gives the format, such as `.svg` or `.png`. None writes
            nothing.
        names: curves to draw, such as `["loss", "validation/loss"]`; None means all that a run
            has, without the learning rate and the speed.
        best: label of a run to stand out, with the others in gray; or None.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if a folder has no curves, no run has a name, `best` is no run, or a grid's
            `finished.json` is not one of `finetune_grid`.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_curves({"masked": "bert", "left to right": "causal"}, "curves.svg", ["validation/loss"])
    ```
    """
    if isinstance(runs, (str, os.PathLike)):
        runs, best = _runs_of_grid(Path(runs), best) or ([runs], best)
    if not isinstance(runs, Mapping):
        runs = {Path(folder).name: folder for folder in runs}
    curves = {label: read_curves(folder) for label, folder in runs.items()}
    known = list(dict.fromkeys(name for run in curves.values() for name in run))
    for name in names or ():
        if name not in known:
            raise ValueError(f"No run has a curve {name!r}; there are {', '.join(known)}.")
    if names is None:
        names = [name for name in known if name not in ("learning_rate", "tokens_per_second")]
    scores = [
        {"row": label, "metric": name, "step": step, "value": value}
        for name in names
        for label, run in curves.items()
        for step, value in run.get(name, {}).items()
    ]
    return plot_scores(scores, path, best=best)


def draw_run(folder: str | os.PathLike) -> None:
    """Draws the curves of a run, or of a grid's runs, as FOLDER/curves.png, and prints its path.

    Without matplotlib, curves or room on the disk, or in a bucket, there is no picture; the run is
    done all the same.

    Args:
        folder: the output folder of a run or a grid.

    Example:
    >>> import tempfile
    >>> from keras_bert import TrainingCurves
    >>> folder = tempfile.mkdtemp()
    >>> TrainingCurves(folder).write(10, {"loss": 0.5})
    >>> draw_run(folder)  # doctest: +ELLIPSIS
    Curves: ...curves.png
    """
    if "://" in str(folder):
        return
    path = Path(folder) / "curves.png"
    try:
        plot_curves(folder, path)
    except (ImportError, OSError, ValueError) as error:
        print(f"No curves.png: {error}")
    else:
        print(f"Curves: {path}")


def finished_runs(folder: Path) -> dict[Path, dict]:
    """Reads the `settings` and `scores` of each finished run of a grid, by its file.

    Raises:
        ValueError: if a file holds anything else.
    """
    runs = {path: read_json(path) for path in sorted(folder.glob("runs/*/finished.json"))}
    for path, run in runs.items():
        scores = run.get("scores")
        is_right = isinstance(run.get("settings"), dict) and isinstance(scores, list) and scores
        if not is_right or not all(isinstance(score, dict) for score in scores):
            raise ValueError(
                f"{path} must hold the settings and scores of a run of finetune_grid. Restore it, "
                "or remove its folder."
            )
    return runs


def _runs_of_grid(folder, best):
    """Returns the finished runs of a grid by what tells them apart, and the best; or None."""
    settings = {path.parent: run["settings"] for path, run in finished_runs(folder).items()}
    if not settings:
        return None
    first, *others = settings.values()
    names = [name for name in first if any(other.get(name) != first[name] for other in others)]

    def label(values):
        return ", ".join(f"{name} {_shown(values.get(name))}" for name in names) or folder.name

    found = read_json(folder / "best.json") or {}
    known = [label(values) for values in settings.values() if values.items() <= found.items()]
    runs = {label(values): path for path, values in settings.items()}
    return runs, best or (known[0] if known and len(runs) > 1 else None)


def _shown(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def _scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    names = found.Tags()["scalars"]
    return {name: {point.step: point.value for point in found.Scalars(name)} for name in names}


def _has_events(folder):
    return folder.is_dir() and any(folder.glob("events.out.tfevents.*"))
