"""GLUE submissions: a file of answers for each test set, and the zip of all."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from glue.reading import GlueExamples
from glue.tasks import TASKS, glue_task
from keras_bert.files.whole import whole_file


def write_glue_submission(
    folder: str | Path, examples: GlueExamples, predictions: np.ndarray
) -> Path:
    """Writes the predictions for a test set in the format of gluebenchmark.com/faq.

    Other splits are written in the same format, for inspection.

    Args:
        folder: the output folder. The file is `MRPC.tsv` for MRPC, `MNLI-m.tsv` or `MNLI-mm.tsv`
            for MNLI.
        examples: all the `GlueExamples` from `read_glue`.
        predictions: `[n]` ints, the predicted classes; for STS-B floats, clipped to 0..5.

    Returns:
        The path of the file.
    """
    task = glue_task(examples.task)
    if task.values is None:
        answers = [f"{score:.3f}" for score in np.clip(predictions, 0, 5)]
    else:
        answers = [task.values[number] for number in predictions]
    path = Path(folder) / _file_name(task, examples.split)
    with whole_file(path) as file:
        print("index", "prediction", sep="\t", file=file)
        for index, answer in enumerate(answers):
            print(index, answer, sep="\t", file=file)
    return path


def zip_glue_submissions(folder: str | Path, tasks: Iterable[str]) -> Path:
    """Writes FOLDER/submission.zip, with the files of each FOLDER/TASK/submission at its top.

    A full submission has 11 files; those that are missing are printed.
    """
    files = {}
    for task in tasks:
        files |= {path.name: path for path in Path(folder, task, "submission").glob("*.tsv")}
    splits = [(task, split) for task in TASKS.values() for split in task.files]
    full = [_file_name(task, split) for task, split in splits if split.startswith("test")]
    if missing := [name for name in full if name not in files]:
        print(f"The submission lacks {', '.join(missing)}.")
    path = Path(folder) / "submission.zip"
    with whole_file(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in sorted(files):
            zipped.write(files[name], name)
    return path


def _file_name(task, split):
    """Returns the name of the file that GLUE's server expects."""
    half = {"matched": "-m", "mismatched": "-mm"}.get(split.partition("_")[2], "")
    return f"{task.name}{half}.tsv"
