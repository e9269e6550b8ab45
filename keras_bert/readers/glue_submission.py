"""Writer of GLUE submissions."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_bert.files.whole import whole_file
from keras_bert.readers.glue import GlueExamples
from keras_bert.readers.glue_tasks import glue_task


def write_glue_submission(
    folder: str | os.PathLike, examples: GlueExamples, predictions: Sequence | np.ndarray
) -> Path:
    r"""Writes the predictions for a test set in GLUE's submission format.

    The server takes a zip file with the files of all tasks. Other splits are written in the same
    format, for inspection.
    Source: gluebenchmark.com/faq.

    Args:
        folder: the output folder; created if missing. The file is `MRPC.tsv` for MRPC,
            `MNLI-m.tsv` or `MNLI-mm.tsv` for MNLI.
        examples: all the `GlueExamples` from `read_glue`.
        predictions: `[n]` ints, the predicted classes; for STS-B floats, clipped to 0..5.

    Returns:
        The path of the file.

    Raises:
        ValueError: if predictions and examples differ in number, a prediction is not a class or
            not a number, or rows of the test file were skipped.

    Example:
    >>> import tempfile
    >>> from keras_bert.readers.glue import GlueExamples
    >>> from keras_bert.reports import Reports
    >>> texts = (["Yes, he said."], ["He spoke."])
    >>> names = ["entailment", "not_entailment"]
    >>> examples = GlueExamples("RTE", "test", texts, None, names, Reports())
    >>> path = write_glue_submission(tempfile.mkdtemp(), examples, [0])
    >>> path.name, path.read_text()
    ('RTE.tsv', 'index\tprediction\n0\tentailment\n')
    """
    task = glue_task(examples.task)
    predictions = np.asarray(predictions)
    _check(examples, predictions)
    answers = _scores(predictions) if task.values is None else _labels(predictions, task)
    folder = Path(folder)
    path = folder / task.submission(examples.split)
    with whole_file(path) as file:
        print("index", "prediction", sep="\t", file=file)
        for index, answer in enumerate(answers):
            print(index, answer, sep="\t", file=file)
    return path


def _check(examples, predictions):
    if predictions.shape != (len(examples),):
        raise ValueError(
            f"predictions must have one value for each of the {len(examples)} examples of the "
            f"{examples.split} set of {examples.task}; got shape {predictions.shape}."
        )
    if examples.split.startswith("test") and examples.reports.as_dict():
        raise ValueError(
            f"Rows of the test set of {examples.task} were skipped "
            f"({'; '.join(examples.reports.lines())}), but a submission needs a prediction for "
            "each. Fix the file and read it with malformed='error'."
        )


def _scores(predictions):
    wrong = np.flatnonzero(~np.isfinite(predictions.astype("float64")))
    if len(wrong):
        raise ValueError(
            f"predictions for STS-B must be finite numbers; number {wrong[0]} is "
            f"{predictions[wrong[0]]}."
        )
    return [f"{score:.3f}" for score in np.clip(predictions, 0, 5)]


def _labels(predictions, task):
    count = len(task.values)
    if not np.issubdtype(predictions.dtype, np.integer) or not (
        0 <= predictions.min() and predictions.max() < count
    ):
        raise ValueError(
            f"predictions for {task.name} must be class numbers, 0 to {count - 1} for "
            f"{', '.join(task.class_names())}; got {predictions.dtype} from {predictions.min()} to "
            f"{predictions.max()}."
        )
    return [task.values[number] for number in predictions]
