"""Grid search: several fine-tuning runs that keep the best model."""

import dataclasses
import gc
import itertools
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

import keras_bert
from _runs import is_chief, write_settings
from _tables import write_table
from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.whole import whole_folder
from keras_bert.finetuning.train_epochs import rank
from keras_bert.training.divergence import DivergedError
from keras_bert.training.processes import wait_for_all


def finetune_grid(
    make_model: Callable,
    train: Any,
    dev: Any,
    output: str | Path,
    settings: keras_bert.FineTuning,
    *,
    grid: Mapping[str, Sequence],
    shared: dict,
    strategy: Any,
    batching: keras_bert.Batching,
    **others: Any,
) -> list[dict]:
    """Fine-tunes with each combination of some settings, and keeps the best model of all.

    The output folder holds the best run's preset `best`; `best.json`, its settings and scores;
    `results.tsv`, a row for each epoch of each finished run; and a folder for each run in `runs`,
    whose models and checkpoints are removed when it is finished. Rerun the same call to skip
    finished runs and resume the interrupted one; new values add new runs. A run that diverges keeps
    the scores of its earlier epochs, or NaN if it has none.

    Source: Devlin et al. 2019, section 4.1 and appendix A.3.

    Args:
        make_model: function that creates a model for each run, after the run's `seed` is set.
        train: training examples; see `finetune`.
        dev: examples to select the best epoch and the best run.
        output: a folder, used only for this grid.
        settings: the `FineTuning` of all runs; its `select` also selects the best run, of equal
            ones the first.
        grid: `batch_size` or names of settings, each with the values to try.
        shared: what else all runs in the folder share, such as the task.
        strategy: the result of `get_strategy`.
        batching: the `Batching` of all runs.
        **others: other arguments of `finetune`.

    Returns:
        A list of dicts, the best run first: the settings, `epoch` and scores of each finished run's
        best epoch.
    """
    select = settings.select
    runs = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    of_runs = [_settings_of(run, settings, batching) for run in runs]  # checked before any runs
    output = Path(output)
    of_all = dataclasses.asdict(batching) | dataclasses.asdict(settings)
    of_all = {name: value for name, value in of_all.items() if name not in grid}
    write_settings(output, shared | of_all, strategy=strategy)

    def trained(own, batches, folder):
        gc.collect()  # the previous run's model
        keras.utils.set_random_seed(own.seed)
        with strategy.scope():
            model = make_model()
        try:
            return keras_bert.finetune(
                model, train, dev, folder, own, batching=batches, strategy=strategy, **others
            )
        except DivergedError as error:  # the other runs may do better
            print(f"The run diverged. {error}", flush=True)
            return read_json(folder / "scores.json", list) or [{select: math.nan}]

    for number, (run, own) in enumerate(zip(runs, of_runs, strict=True), 1):
        name = "-".join(f"{key}={value}" for key, value in run.items())
        folder = output / "runs" / name
        finished = folder / "finished.json"
        is_done = finished.exists()
        print(f"Run {number} of {len(runs)}: {name}{' is done' if is_done else ''}", flush=True)
        if not is_done:
            scores = trained(*own, folder)
        if is_chief(strategy):
            if not is_done:
                _keep_if_best(output, folder, {**run, **_best(scores, select)}, select)
                write_json(finished, {"settings": run, "scores": scores})
            _write_results(output)
            for part in ("best", "checkpoints"):
                shutil.rmtree(folder / part, ignore_errors=True)
        wait_for_all(f"run {number}", strategy)
    best = [{**run["settings"], **_best(run["scores"], select)} for run in _finished(output)]
    return sorted(best, key=lambda result: rank(result[select]), reverse=True)


def _settings_of(run, settings, batching):
    own = {**run}
    size = own.pop("batch_size", batching.batch_size)
    return dataclasses.replace(settings, **own), dataclasses.replace(batching, batch_size=size)


def _best(scores, select):
    """Returns the best epoch's number and scores; among equal epochs, the first."""
    epoch = max(range(len(scores)), key=lambda epoch: rank(scores[epoch][select]))
    return {"epoch": epoch + 1, **scores[epoch]}


def _keep_if_best(output, folder, result, select):
    """Copies a run's model to `output` if it is better than all earlier ones."""
    before = read_json(output / "best.json")
    is_better = not before or rank(result[select]) > rank(before[select])
    if not is_better or not (folder / "best").exists():  # diverged in its first epoch
        return
    with whole_folder(output / "best") as new:
        shutil.copytree(folder / "best", new, dirs_exist_ok=True)
    write_json(output / "best.json", result)  # the last: a kill before it repeats the others


def _finished(output):
    """Reads the settings and scores of the finished runs, in the order in which they ended."""
    paths = output.glob("runs/*/finished.json")
    return [read_json(path) for path in sorted(paths, key=lambda p: (p.stat().st_mtime_ns, p))]


def _write_results(output):
    rows = [
        {**run["settings"], "epoch": epoch, **scores}
        for run in _finished(output)
        for epoch, scores in enumerate(run["scores"], 1)
    ]
    columns = dict.fromkeys(name for row in rows for name in row)  # diverged runs lack some
    values = [[row.get(name, math.nan) for name in columns] for row in rows]
    write_table(output / "results.tsv", [columns, *values])
