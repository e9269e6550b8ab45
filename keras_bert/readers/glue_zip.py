"""Writer of the zip file that GLUE's server takes."""

import logging
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

from keras_bert.files.whole import whole_file
from keras_bert.readers.glue_tasks import TASKS

logger = logging.getLogger("keras_bert")


def zip_glue_submissions(folder: str | os.PathLike, tasks: Iterable[str]) -> Path:
    r"""Writes FOLDER/submission.zip from the submissions of `finetune_glue.py`.

    The files lie at the top of the zip, under the names of `write_glue_submission`. A full
    submission has 11 of them; those that are missing are logged.
    Source: gluebenchmark.com/faq.

    Args:
        folder: a folder with a folder for each task, which holds the task's `submission`.
        tasks: names of the tasks' folders, such as `"sst2"`.

    Returns:
        The path of the zip file.

    Raises:
        ValueError: if a task has no answers to its test set.

    Example:
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "rte/submission").mkdir(parents=True)
    >>> text = "index\tprediction\n0\tentailment\n"
    >>> _ = (folder / "rte/submission/RTE.tsv").write_text(text)
    >>> zipfile.ZipFile(zip_glue_submissions(folder, ["rte"])).namelist()
    ['RTE.tsv']
    """
    files = {}
    for task in tasks:
        found = sorted(Path(folder, task, "submission").glob("*.tsv"))
        if not found:
            raise ValueError(f"{Path(folder, task, 'submission')} has no answers to a test set.")
        files |= {path.name: path for path in found}
    splits = [(task, split) for task in TASKS.values() for split in task.files]
    full = [task.submission(split) for task, split in splits if split.startswith("test")]
    if missing := [name for name in full if name not in files]:
        logger.warning("The submission lacks %s.", ", ".join(missing))
    path = Path(folder) / "submission.zip"
    with whole_file(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in sorted(files):
            zipped.write(files[name], name)
    return path
