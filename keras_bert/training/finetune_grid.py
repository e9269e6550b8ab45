"""Grid search: several fine-tuning runs that keep the best model."""

import contextlib
import dataclasses
import gc
import inspect
import itertools
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras

from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import local_path
from keras_bert.files.whole import whole_file, whole_folder, whole_path
from keras_bert.pictures.run_curves import draw_run, finished_runs
from keras_bert.training.checkpointing import rank
from keras_bert.training.divergence import DivergedError
from keras_bert.training.finetune import finetune, given_batching
from keras_bert.training.processes import is_chief, wait_for_all
from keras_bert.training.run_settings import keep_settings

if TYPE_CHECKING:
    from keras_bert.training.strategy import Strategy

_SETTINGS = ("batch_size", *inspect.signature(finetune).parameters)


def finetune_grid(
    make_model: Callable,
    train: Any,
    dev: Any,
    output: str | os.PathLike,
    *,
    grid: Mapping[str, Sequence],
    select: str,
    shared: dict | None = None,
    strategy: "Strategy | None" = None,
    batching: Any = None,
    **settings: Any,
) -> list[dict]:
    """Fine-tunes with each combination of some settings, and keeps the best model of all.

    The output folder holds the best run's preset `best`; `best.json`, its settings and scores;
    `results.tsv`, a row for each epoch of each finished run; and a folder for each run in `runs`,
    whose models and checkpoints are removed when it is finished. Rerun the same call to skip
    finished runs and resume the interrupted one; new values add new runs. A run that diverges keeps
    the scores of its earlier epochs, or NaN if it has none. With `plots=True`, `curves.png` shows
    all runs and `confusion.png` the best classifier's confusion matrix. If several processes train
    together, each calls it, and the first writes.

    Source: Devlin et al. 2019, section 4.1 and appendix A.3: a grid of batch sizes, learning rates
    and epochs, and random restarts, selected on the development set.

    Args:
        make_model: function that creates a new model for each run, after the run's `seed` is set.
            It is called in the scope of the strategy.
        train: training examples; see `finetune`.
        dev: examples to select the best epoch and the best run; see `finetune`.
        output: a folder, used only for this grid.
        grid: dict from names of `finetune`'s settings, or `batch_size`, to the values to try.
        select: name of the score that selects the best run; higher is better. Among equal runs,
            the first is kept.
        shared: dict of settings that all runs in the folder share, such as the task. A later call
            must pass the same dict.
        strategy: the result of `get_strategy`. TensorFlow's workers need it to find which is first.
        batching: the `Batching` of all runs.
        **settings: settings of `finetune` that all runs share.

    Returns:
        A list of dicts, the best run first: the settings, `epoch` and scores of each finished run's
        best epoch.

    Raises:
        ValueError: if the grid is empty or has unknown settings, the folder is not on this machine,
            or it holds runs with a different `shared`.

    Example:
    ```python
    results = finetune_grid(
        lambda: BertClassifier.from_preset("bert", num_classes=2),
        (texts, labels),
        (dev_texts, dev_labels),
        "reviews",
        grid={"batch_size": [16, 32], "learning_rate": [5e-5, 3e-5, 2e-5], "epochs": [2, 3, 4]},
        select="accuracy",
    )
    ```
    """
    runs, shared_batching = _runs(grid), given_batching(batching)
    output = local_path(output)
    keep_settings(output, shared or {}, strategy=strategy)

    def trained(run, folder):
        gc.collect()  # the previous run's model
        run = {**settings, **run}
        size = run.pop("batch_size", shared_batching.batch_size)
        run["batching"] = dataclasses.replace(shared_batching, batch_size=size)
        if "seed" in run:
            keras.utils.set_random_seed(run["seed"])
        with contextlib.nullcontext() if strategy is None else strategy.scope():
            model = make_model()
        try:
            return finetune(model, train, dev, folder, select=select, strategy=strategy, **run)
        except DivergedError as error:  # the other runs may do better
            print(f"The run diverged. {error}", flush=True)
            return read_json(folder / "scores.json", list) or [{select: math.nan}]

    for number, run in enumerate(runs, 1):
        name = "-".join(f"{key}={value}" for key, value in run.items())
        folder = output / "runs" / name
        finished = folder / "finished.json"
        is_done = finished.exists()
        print(f"Run {number} of {len(runs)}: {name}{' is done' if is_done else ''}", flush=True)
        if not is_done:
            scores = trained(run, folder)
        if is_chief(strategy):
            if not is_done:
                _keep_if_best(output, folder, {**run, **_best(scores, select)}, select)
                write_json(finished, {"settings": run, "scores": scores})
            _write_results(output)
            for part in ("best", "checkpoints"):
                shutil.rmtree(folder / part, ignore_errors=True)
        wait_for_all(f"run {number}", strategy)
    if settings.get("plots") and is_chief(strategy):
        draw_run(output)
    best = [{**run["settings"], **_best(run["scores"], select)} for run in _finished(output)]
    return sorted(best, key=lambda result: rank(result[select]), reverse=True)


def _runs(grid):
    """Lists the combinations of a grid's values, as dicts."""
    unknown = [name for name in grid if name not in _SETTINGS]
    if not grid or unknown or not all(grid.values()):
        raise ValueError(
            "grid must be a dict from names of finetune's settings, or batch_size, to lists of "
            f"values, such as {{'learning_rate': [5e-5, 2e-5]}}; got {grid}."
        )
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _best(scores, select):
    """Returns the best epoch's number and scores; among equal epochs, the first."""
    epoch = max(range(len(scores)), key=lambda epoch: rank(scores[epoch][select]))
    return {"epoch": epoch + 1, **scores[epoch]}


def _keep_if_best(output, folder, result, select):
    """Copies a run's model to `output` if it is better than all earlier ones."""
    before = read_json(output / "best.json")
    if before and not isinstance(before.get(select), (int, float)):
        raise ValueError(
            f"{output}/best.json lacks a number {select!r}: it is damaged, or the grid had another "
            "select. Restore it, or give this grid a folder of its own."
        )
    is_better = not before or rank(result[select]) > rank(before[select])
    if not is_better or not (folder / "best").exists():  # diverged in its first epoch
        return
    with whole_folder(output / "best") as new:
        shutil.copytree(folder / "best", new, dirs_exist_ok=True)
    picture = folder / "confusion.png"
    if picture.exists():
        with whole_path(output / picture.name) as unfinished:
            shutil.copyfile(picture, unfinished)
    write_json(output / "best.json", result)  # the last: a kill before it repeats the others


def _finished(output):
    """Reads the settings and scores of the finished runs, in the order in which they ended."""
    runs = finished_runs(output)
    return [runs[path] for path in sorted(runs, key=_age_and_name)]


def _age_and_name(path):
    return path.stat().st_mtime_ns, path.parent.name


def _write_results(output):
    rows = [
        {**run["settings"], "epoch": epoch, **scores}
        for run in _finished(output)
        for epoch, scores in enumerate(run["scores"], 1)
    ]
    columns = dict.fromkeys(name for row in rows for name in row)  # diverged runs lack some
    with whole_file(output / "results.tsv") as file:
        print(*columns, sep="\t", file=file)
        for row in rows:
            print(*(row.get(name, math.nan) for name in columns), sep="\t", file=file)
