"""Writer of GLUE's results as a table with a row for each task."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from keras_bert.files.whole import whole_file
from keras_bert.pictures.paper_tables import paper_table
from keras_bert.readers.glue import read_glue
from keras_bert.readers.glue_results import (
    COLUMNS,
    SETTING,
    best_setting,
    read_epochs,
    read_glue_results,
    score_of,
)

PAPER = "BERT Base (paper, test sets)"


def write_glue_table(
    folder: str | os.PathLike, data: Mapping[str, str | os.PathLike] | None = None
) -> Path:
    r"""Writes FOLDER/glue.tsv from the results of `finetune_glue.py`, a row for each task.

    It has the columns and averages of `read_glue_results` as rows, and two rows for MNLI. All
    scores are from 0 to 100.

    Args:
        folder: a folder with a folder for each task, which holds the task's `results.tsv`.
        data: `{task: folder}` of the tasks whose examples are counted, from `glue_folders`.

    Returns:
        The path of the file. Its columns are `task`; `score`, the name of the score; `mean` and
        `deviation` on the development set, over the seeds of the setting with the best mean;
        `seeds`, their number; `best`, the score of the run that FOLDER/TASK/best holds, of any
        setting; `train` and `dev`, the numbers of examples; the setting; and `paper`, the figure
        of BERT Base on the test set, or the mean of these. What is unknown is empty.

    Raises:
        ValueError: if no task has results, or a `results.tsv` or `data` can't be read.

    Example:
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "rte").mkdir()
    >>> lines = ["seed batch_size learning_rate epochs accuracy score", "0 32 2e-5 3 0.75 0.75"]
    >>> text = "\n".join(line.replace(" ", "\t") for line in lines)
    >>> _ = (folder / "rte" / "results.tsv").write_text(text)
    >>> print(write_glue_table(folder).read_text().replace("\t", ","), end="")
    task,score,mean,deviation,seeds,best,train,dev,batch_size,learning_rate,epochs,paper
    RTE,accuracy,75.00,,1,75.00,,,32,2e-5,3,66.4
    average of 1,,75.00,,1,,,,,,,66.4
    """
    values = {}
    for score in read_glue_results(folder):
        values.setdefault(score["metric"], []).append(score["value"])
    paper = {name: float(figure) for name, figure in paper_table("1")[PAPER].items()}
    known = [paper[name] for name in values if name in COLUMNS and name in paper]
    paper[f"average of {len(known)}"] = np.mean(known or np.nan)
    empty = dict.fromkeys(("best", "train", "dev", *SETTING), "")
    rows = []
    for name, found in values.items():
        row = {"task": name, "score": "", "mean": f"{np.mean(found):.2f}"}
        row["deviation"] = f"{np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
        row |= {"seeds": len(found), **empty}
        if name in COLUMNS:
            row |= _run(Path(folder), *COLUMNS[name]) | _counts(data or {}, name)
        rows.append({**row, "paper": f"{paper[name]:.1f}" if name in paper else ""})
    path = Path(folder) / "glue.tsv"
    with whole_file(path) as file:
        print(*rows[0], sep="\t", file=file)
        for row in rows:
            print(*row.values(), sep="\t", file=file)
    return path


def _run(folder, task, score):
    """Returns the name of a task's score, the best run's, and the best setting."""
    epochs = read_epochs(folder, task)
    best = max(epochs, key=score_of)[score]
    setting = best_setting(epochs)[0]
    return {"score": score, "best": f"{100 * best:.2f}", **{s: setting[s] for s in SETTING}}


def _counts(data, name):
    """Returns the numbers of examples of a column of table 1."""
    task = COLUMNS[name][0]
    if task not in data:
        return {}
    halves = {"MNLI-m": "dev_matched", "MNLI-mm": "dev_mismatched"}
    splits = {"train": "train", "dev": halves.get(name, "dev")}
    return {key: len(read_glue(data[task], task, split)) for key, split in splits.items()}
