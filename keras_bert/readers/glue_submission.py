"""Answers as GLUE's server takes them."""

import os
from pathlib import Path

import numpy as np

from keras_bert.readers.glue_tasks import glue_task


def write_glue_submission(folder, examples, predictions):
    r"""Writes the answers to a test set in the format of GLUE's submissions.

    The server takes a zip file of the files of all tasks. Splits other than test sets are written
    alike, to look at.

    Source: gluebenchmark.com/faq.

    Args:
        folder: where to write; it is made if it isn't there. The file is `MRPC.tsv` for MRPC,
            `MNLI-m.tsv` or `MNLI-mm.tsv` for MNLI.
        examples: the `GlueExamples` that `read_glue` gave, all of them.
        predictions: `[n]` ints, their classes; of STS-B floats, which are clipped to 0..5.

    Returns:
        The path of the file.

    Raises:
        ValueError: if there is not one prediction for each example, one is no class or no
            number, or rows of the test file were passed over.

    Example:
    >>> import tempfile
    >>> from keras_bert.readers.glue import GlueExamples
    >>> from keras_bert.files.reports import Reports
    >>> texts = (["Yes, he said."], ["He spoke."])
    >>> names = ["entailment", "not_entailment"]
    >>> examples = GlueExamples("RTE", "test", texts, None, names, Reports())
    >>> path = write_glue_submission(tempfile.mkdtemp(), examples, [0])
    >>> path.name, path.read_text()
    ('RTE.tsv', 'index\tprediction\n0\tentailment\n')
    """
    task = glue_task(examples.task)
    predictions = np.asarray(predictions)
    if predictions.shape != (len(examples),):
        raise ValueError(
            f"predictions must be one for each of the {len(examples)} examples of the "
            f"{examples.split} set of {task.name}; got the shape {predictions.shape}."
        )
    if examples.split.startswith("test") and examples.reports.as_dict():
        raise ValueError(
            f"Rows of the test set of {task.name} were passed over "
            f"({'; '.join(examples.reports.lines())}), and a submission needs an answer to each. "
            "Mend the file and read it with malformed='error'."
        )
    answers = _scores(predictions) if task.values is None else _labels(predictions, task)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / task.submission(examples.split)
    unfinished = folder / f".{path.name}.unfinished"
    with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        print("index", "prediction", sep="\t", file=file)
        for index, answer in enumerate(answers):
            print(index, answer, sep="\t", file=file)
    os.replace(unfinished, path)
    return path


def _scores(predictions):
    if not np.isfinite(predictions.astype("float64")).all():
        raise ValueError("predictions of STS-B must be finite numbers; some are not.")
    return [f"{score:.3f}" for score in np.clip(predictions, 0, 5)]


def _labels(predictions, task):
    count = len(task.values)
    if not np.issubdtype(predictions.dtype, np.integer) or not (
        0 <= predictions.min() and predictions.max() < count
    ):
        raise ValueError(
            f"predictions of {task.name} must be class numbers, 0 to {count - 1} for "
            f"{', '.join(task.class_names())}; got {predictions.dtype} from {predictions.min()} to "
            f"{predictions.max()}."
        )
    return [task.values[number] for number in predictions]
