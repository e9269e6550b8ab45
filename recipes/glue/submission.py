"""GLUE submissions: a file of answers for each test set, and the zip of all."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from _tables import write_table
from glue.reading import GlueExamples
from glue.tasks import glue_task
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
    write_table(path, [("index", "prediction"), *enumerate(answers)])
    return path


def zip_glue_submissions(folder: str | Path, tasks: Iterable[str]) -> Path:
    """Writes FOLDER/submission.zip, with the files of each FOLDER/TASK/submission at its top.

    A full submission has 11 files; if there are fewer, their number is printed.
    """
    files = {}
    for task in tasks:
        files |= {path.name: path for path in Path(folder, task, "submission").glob("*.tsv")}
    if len(files) < 11:
        print(f"The submission has {len(files)} of GLUE's 11 files.")
    path = Path(folder) / "submission.zip"
    with whole_file(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in sorted(files):
            zipped.write(files[name], name)
    return path


def _file_name(task, split):
    """Returns the name of the file that GLUE's server expects."""
    half = {"matched": "-m", "mismatched": "-mm"}.get(split.partition("_")[2], "")
    return f"{task.name}{half}.tsv"
