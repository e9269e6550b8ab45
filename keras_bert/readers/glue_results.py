"""All of GLUE at once: the folders of its tasks, and table 1 of BERT's paper for a model."""

import csv
import math
import os
from pathlib import Path

import numpy as np

from keras_bert.metrics.glue import METRICS, task_key
from keras_bert.readers.glue_tasks import glue_task

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


def glue_folders(folder: str | os.PathLike, with_test: bool = True) -> dict[str, Path]:
    """Finds the folders of GLUE's tasks, as GLUE's download script names them.

    Args:
        folder: a folder with `CoLA`, `SST-2`, `MRPC` and so on; case and punctuation don't matter.
        with_test: bool, whether each task must have its test sets too.

    Returns:
        `{task: path}`, such as `"sst2"`; also `"ax"` for `AX` or `diagnostic`.

    Raises:
        ValueError: if there is none, or one lacks a file.

    Example:
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for split in ("train", "dev"):
    ...     (folder / "SST-2").mkdir(exist_ok=True)
    ...     (folder / "SST-2" / f"{split}.tsv").touch()
    >>> [*glue_folders(folder, with_test=False)]
    ['sst2']
    """
    found = {}
    for path in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else ():
        name = "ax" if path.name == "diagnostic" else path.name
        key = "".join(filter(str.isalnum, name.lower()))
        if path.is_dir() and key in METRICS:
            found[task_key(key)] = path
    expected = ", ".join(glue_task(task).name for task in METRICS)
    if not {*found} - {"ax"}:
        raise ValueError(f"{folder} has no folder of a GLUE task: {expected}.")
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

    Of each task it takes the setting with the best mean score over all seeds, and of each of its
    runs the best epoch. The average is the paper's: the mean of all columns but WNLI, in which MNLI
    counts twice. If tasks are missing, its name says of how many columns it is.

    Args:
        folder: a folder with a folder for each task, which holds the task's `results.tsv`.

    Returns:
        A list of dicts of `metric`, the column; `seed`, an int; and `value`, a float, 0 to 100.
        Averages are over the tasks that have the seed.

    Raises:
        ValueError: if no task has results.

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
    paths = {task: Path(folder) / task / "results.tsv" for task in METRICS}
    best = {task: _best_setting(path) for task, path in paths.items() if path.exists()}
    scores = [
        {"metric": column, "seed": int(run["seed"]), "value": 100 * float(run[name])}
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


def _best_setting(path):
    """Returns the best epoch of each run with the best setting, one run for each seed."""
    with open(path, encoding="utf-8", newline="") as file:
        epochs = list(csv.DictReader(file, delimiter="\t"))
    runs = {}
    for epoch in epochs:
        setting = tuple(epoch[name] for name in ("batch_size", "learning_rate", "epochs"))
        by_seed = runs.setdefault(setting, {})
        if epoch["seed"] not in by_seed or _score(epoch) > _score(by_seed[epoch["seed"]]):
            by_seed[epoch["seed"]] = epoch
    best = max(runs.values(), key=lambda by_seed: np.mean([_score(e) for e in by_seed.values()]))
    return [*best.values()]


def _score(epoch):
    score = float(epoch["score"])
    return -math.inf if math.isnan(score) else score  # of a run that diverged
