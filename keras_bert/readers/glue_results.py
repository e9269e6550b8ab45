"""All of GLUE at once: the folders of its tasks, and table 1 of BERT's paper for a model."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.messages import shortened, shown
from keras_bert.metrics.glue import METRICS
from keras_bert.readers.glue_tasks import glue_task
from keras_bert.readers.table import read_table

COLUMNS = {  # of table 1, in its order: the task, and the score of results.tsv that it shows
    "MNLI-m": ("mnli", "accuracy"),
    "MNLI-mm": ("mnli", "mismatched_accuracy"),
    "QQP": ("qqp", "f1"),
    "QNLI": ("qnli", "accuracy"),
    "SST-2": ("sst2", "accuracy"),
    "CoLA": ("cola", "mcc"),
    "STS-B": ("stsb", "spearman"),
    "MRPC": ("mrpc", "f1"),
    "RTE": ("rte", "accuracy"),
    "WNLI": ("wnli", "accuracy"),
}
SETTING = ("batch_size", "learning_rate", "epochs")


def glue_folders(folder: str | os.PathLike, with_test: bool = True) -> dict[str, Path]:
    """Finds the folders of GLUE's tasks, as GLUE's download script names them.

    Args:
        folder: a folder with `CoLA`, `SST-2`, `MRPC` and so on; case and punctuation don't matter.
        with_test: bool, whether each task must have its test sets too.

    Returns:
        `{task: path}`, such as `"sst2"`; also `"ax"` for `AX` or `diagnostic`.

    Raises:
        ValueError: if there is none, a task has two, or one lacks a file.

    Example:
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for split in ("train", "dev"):
    ...     (folder / "SST-2").mkdir(exist_ok=True)
    ...     (folder / "SST-2" / f"{split}.tsv").touch()
    >>> [*glue_folders(folder, with_test=False)]
    ['sst2']
    """
    paths = sorted(Path(folder).iterdir()) if Path(folder).is_dir() else []
    found = {}
    for path in paths:
        name = "ax" if path.name == "diagnostic" else path.name
        key = "".join(filter(str.isalnum, name.lower()))
        if path.is_dir() and key in METRICS:
            if key in found:
                both = f"{found[key]} and {path}"
                raise ValueError(f"{both} are both folders of {glue_task(key).name}. Keep one.")
            found[key] = path
    if not {*found} - {"ax"}:
        expected = ", ".join(glue_task(task).name for task in METRICS if task != "ax")
        names = shortened(", ".join(path.name for path in paths)) or "nothing"
        has = f"It has: {names}" if Path(folder).is_dir() else "It is not a folder"
        raise ValueError(f"{folder} has no folder of a GLUE task: {expected}. {has}.")
    lacking = [
        f"{path}/{names[0]}"
        for task, path in found.items()
        for split, names in glue_task(task).files.items()
        if (with_test or not split.startswith("test"))
        and not any((path / name).exists() for name in names)
    ]
    if lacking:
        hint = " Without test sets, give --no_test." if with_test else ""
        raise ValueError(f"These files of GLUE are missing: {', '.join(lacking)}.{hint}")
    return {task: found[task] for task in METRICS if task in found}


def read_glue_results(folder: str | os.PathLike) -> list[dict]:
    r"""Reads a model's row of table 1 from the results of `finetune_glue.py`.

    Of each task it takes the setting with the best mean score over all seeds, among those with the
    most seeds, and of each of its runs the best epoch. The average is the paper's: the mean of all
    columns but WNLI, in which MNLI counts twice. If tasks are missing, its name says of how many
    columns it is.

    Args:
        folder: a folder with a folder for each task, which holds the task's `results.tsv`.

    Returns:
        A list of dicts of `metric`, the column; `seed`, an int; and `value`, a float, 0 to 100.
        Averages are over the tasks that have the seed.

    Raises:
        ValueError: if no task has results, or a `results.tsv` is damaged.

    Example:
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "rte").mkdir()
    >>> lines = ["seed batch_size learning_rate epochs accuracy score", "0 32 2e-5 3 0.75 0.75"]
    >>> text = "\n".join(line.replace(" ", "\t") for line in lines)
    >>> _ = (folder / "rte" / "results.tsv").write_text(text)
    >>> read_glue_results(folder)[0]
    {'metric': 'RTE', 'seed': 0, 'value': 75.0}
    """
    tasks = [task for task in METRICS if (Path(folder) / task / "results.tsv").exists()]
    best = {task: best_setting(read_epochs(folder, task)) for task in tasks}
    scores = [
        {"metric": column, "seed": run["seed"], "value": 100 * run[name]}
        for column, (task, name) in COLUMNS.items()
        for run in best.get(task, ())
    ]
    if not scores:
        raise ValueError(f"{folder} has no results of a GLUE task, such as mrpc/results.tsv.")
    for seed in sorted({score["seed"] for score in scores}):
        own = [s["value"] for s in scores if s["seed"] == seed and s["metric"] != "WNLI"]
        whole = len(own) == len(COLUMNS) - 1
        if own:
            metric = "average" if whole else f"average of {len(own)}"
            scores.append({"metric": metric, "seed": seed, "value": float(np.mean(own))})
    return scores


def read_epochs(folder: str | os.PathLike, task: str) -> list[dict[str, Any]]:
    """Reads a task's `results.tsv`: for each epoch its seed, setting and the scores to show.

    Raises:
        ValueError: if a column is missing, or a value is not a number.
    """
    table = read_table(Path(folder) / task / "results.tsv", quoting=False)
    scores = [name for of_task, name in COLUMNS.values() if of_task == task]
    kinds = dict.fromkeys(SETTING, str) | dict.fromkeys(["score", *scores], float)
    epochs = [{} for _ in table.lines]
    for name, kind in {"seed": int, **kinds}.items():
        for line, epoch, text in zip(table.lines, epochs, table[name], strict=True):
            try:
                epoch[name] = kind(text)
            except ValueError as error:
                raise ValueError(
                    f"{table.path}, line {line}: {shown(text)} in column {name!r} is not "
                    "a number. Restore the file: finetune_glue.py writes it again when it is rerun."
                ) from error
    return epochs


def best_setting(epochs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the best epoch of each run with the best setting, one run for each seed.

    Settings with fewer seeds than another, in a grid that was stopped, are left out: a single lucky
    seed would win.
    """
    runs = {}
    for epoch in epochs:
        setting = tuple(epoch[name] for name in SETTING)
        by_seed = runs.setdefault(setting, {})
        if epoch["seed"] not in by_seed or score_of(epoch) > score_of(by_seed[epoch["seed"]]):
            by_seed[epoch["seed"]] = epoch
    most = max(map(len, runs.values()))
    found = [[*by_seed.values()] for by_seed in runs.values() if len(by_seed) == most]
    return max(found, key=lambda epochs: np.mean([score_of(epoch) for epoch in epochs]))


def score_of(epoch: dict[str, Any]) -> float:
    """Returns the score that selects an epoch; minus infinity for a run that diverged."""
    return -math.inf if math.isnan(epoch["score"]) else epoch["score"]
