"""All of GLUE at once: the folders of its tasks, and table 1 of BERT's paper for a model."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from glue.reading import file_of
from glue.tasks import TASKS, task_key

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


def glue_folders(folder: str | Path, with_test: bool = True) -> dict[str, Path]:
    """Finds the folders of GLUE's tasks, as GLUE's download script names them.

    Returns:
        `{task: path}`, such as `"sst2"`; also `"ax"` for `AX` or `diagnostic`.

    Raises:
        ValueError: if there is none, or one lacks a file.
    """
    folders = {}
    for path in sorted(Path(folder).glob("*/")):
        folders[task_key(path.name).replace("diagnostic", "ax")] = path
    found = {task: folders[task] for task in TASKS if task in folders}
    if not found.keys() - {"ax"}:
        expected = ", ".join(task.name for key, task in TASKS.items() if key != "ax")
        raise ValueError(f"{folder} has no folder of a GLUE task: {expected}.")
    for task, path in found.items():
        for split in TASKS[task].files:
            if with_test or not split.startswith("test"):
                file_of(str(path), TASKS[task], split)
    return found


def read_glue_results(folder: str | Path) -> list[dict[str, Any]]:
    """Reads a model's row of table 1 from the `results.tsv` of each task in a folder.

    Of each task it takes the setting with the best mean score over all seeds, among those with the
    most seeds, and of each of its runs the best epoch. The average is the paper's: the mean of all
    columns but WNLI, in which MNLI counts twice. If tasks are missing, its name says of how many
    columns it is.

    Returns:
        A list of dicts of `metric`, the column; `seed`, an int; and `value`, a float, 0 to 100.
    """
    tasks = [task for task in TASKS if (Path(folder) / task / "results.tsv").exists()]
    best = {task: _best_setting(_read_epochs(folder, task)) for task in tasks}
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


def _read_epochs(folder, task):
    """Reads a task's `results.tsv`: for each epoch its seed, setting and scores."""
    path = Path(folder) / task / "results.tsv"
    scores = ["score", *(name for of_task, name in COLUMNS.values() if of_task == task)]
    kinds = {"seed": int, **dict.fromkeys(SETTING, str), **dict.fromkeys(scores, float)}
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [{name: kind(row[name]) for name, kind in kinds.items()} for row in rows]


def _best_setting(epochs):
    """Returns the best epoch of each run with the best setting, one run for each seed.

    Settings with fewer seeds than another, in a grid that was stopped, are left out: a single lucky
    seed would win.
    """
    runs = {}
    for epoch in epochs:
        setting = tuple(epoch[name] for name in SETTING)
        by_seed = runs.setdefault(setting, {})
        if epoch["seed"] not in by_seed or _score(epoch) > _score(by_seed[epoch["seed"]]):
            by_seed[epoch["seed"]] = epoch
    most = max(map(len, runs.values()))
    found = [[*by_seed.values()] for by_seed in runs.values() if len(by_seed) == most]
    return max(found, key=lambda epochs: np.mean([_score(epoch) for epoch in epochs]))


def _score(epoch):
    """Returns the score that selects an epoch; minus infinity for a run that diverged."""
    return -math.inf if math.isnan(epoch["score"]) else epoch["score"]
