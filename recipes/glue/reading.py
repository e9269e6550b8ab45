"""Readers of GLUE's tasks: from their official files, and from tensorflow-datasets."""

import dataclasses
import os

import numpy as np

from glue.tasks import GlueTask, glue_task, task_key
from keras_bert.files.remote import names_in
from keras_bert.messages import check_one_of, logger
from keras_bert.readers.separated import separated_rows

_TFDS_TEXTS = {  # the columns of tensorflow-datasets that have other names in GLUE's files
    "MRPC": ("sentence1", "sentence2"),
    **dict.fromkeys(("MNLI", "AX"), ("premise", "hypothesis")),
}


@dataclasses.dataclass(repr=False, eq=False)
class GlueExamples:
    """Examples of a GLUE task from `read_glue`; `len(examples)` is their number.

    Args:
        task: str, the task as GLUE writes it, such as `"STS-B"`.
        split: str, such as `"dev"`.
        texts: a tuple of one or two lists of strings.
        labels: `[n]` int32 class numbers, float32 scores for regression, or None without labels.
        label_names: list of str, the classes; None for regression.
    """

    task: str
    split: str
    texts: tuple[list[str], ...]
    labels: np.ndarray | None
    label_names: list[str] | None

    def __len__(self):
        return len(self.texts[0])


def read_glue(folder: str | os.PathLike, task: str, split: str) -> GlueExamples:
    r"""Reads a split of a GLUE task.

    It reads the files of gluebenchmark.com/tasks (Wang et al. 2019), unchanged: quotes are plain
    characters, CoLA's files have no header except for the test set, and QQP's train and dev sets
    have broken rows, which are skipped, counted and logged. Classes are numbered as in Google's
    `run_classifier.py`.

    Args:
        folder: the task's own folder, such as `"glue_data/MRPC"`.
        task: str, `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`, `"qnli"`, `"rte"`,
            `"wnli"` or `"ax"` (the diagnostic set), in any spelling, such as `"STS-B"`.
        split: str, `"train"`, `"dev"` or `"test"`; for MNLI `"train"`, `"dev_matched"`,
            `"dev_mismatched"`, `"test_matched"` or `"test_mismatched"`; for AX `"test"`.

    Raises:
        ValueError: if the task, split or file does not exist, a column is missing, a row is
            malformed or a label is unknown. The message names the file and line.

    Example:
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "dev.tsv"), "w") as file:
    ...     print('index\tsentence1\tsentence2\tlabel', file=file)
    ...     print('0\t"Yes," he said.\tHe spoke.\tentailment', file=file)
    >>> examples = read_glue(folder, "RTE", "dev")
    >>> examples.texts, examples.label_names[examples.labels[0]]
    ((['"Yes," he said.'], ['He spoke.']), 'entailment')
    """
    description = glue_task(task)
    check_one_of(f"The split of {description.name}", split, description.files)
    path = file_of(os.fspath(folder), description, split)
    rows, malformed = separated_rows(path, "\t", quoting=False)
    if malformed:
        line, wrong = malformed[0]
        if description.name != "QQP" or split == "test":
            raise ValueError(f"{path}, line {line}: {wrong}.")
        logger.warning("%s: %d rows skipped; line %d has %s", path, len(malformed), line, wrong)
    header = ["source", "label", "mark", "sentence"]
    if description.name != "CoLA" or split == "test":
        _, header = rows.pop(0)
        if not rows:
            raise ValueError(f"{path} has no rows below its header.")
    elif len(rows[0][1]) != len(header):
        raise ValueError(
            f"{path}, line 1: {len(rows[0][1])} columns, but CoLA's files have 4 and no header: "
            f"{', '.join(header)}."
        )
    has_labels = description.label in header or not split.startswith("test")
    names = [*description.texts, *[description.label] * has_labels]
    for name in names:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}, only {', '.join(header)}.")
    places = [header.index(name) for name in description.texts]
    texts = tuple([row[place] for _, row in rows] for place in places)
    labels = None
    if has_labels:
        labels = _labels(path, rows, header.index(description.label), description.values)
    return GlueExamples(description.name, split, texts, labels, description.class_names())


def read_tfds(data_dir: str | None, task: str, split: str) -> GlueExamples:
    """Reads a split as `read_glue` does, in the order of GLUE's files, downloading it if needed."""
    import tensorflow_datasets as tfds

    description = glue_task(task)
    dataset, info = tfds.load(
        f"glue/{task_key(task)}",
        split=split.replace("dev", "validation"),
        data_dir=data_dir,
        with_info=True,
    )
    rows = sorted(tfds.as_numpy(dataset), key=lambda row: row["idx"])  # the dataset is shuffled
    names = _TFDS_TEXTS.get(description.name, description.texts)
    texts = tuple([row[name].decode("utf-8") for row in rows] for name in names)
    labels, ours = np.array([row["label"] for row in rows]), description.class_names()
    if ours is None:
        labels = labels.astype("float32")
    elif (labels >= 0).any():  # tensorflow-datasets orders the classes in its own way
        theirs = info.features["label"].names
        labels = np.array([ours.index(name) for name in theirs], "int32")[labels]
    if split.startswith("test") and (ours is None or (labels < 0).all()):
        labels = None
    return GlueExamples(description.name, split, texts, labels, ours)


def _labels(path, rows, place, classes):
    """Converts a column of labels to class numbers, or to scores if there are no classes."""
    labels = []
    for line, row in rows:
        label = row[place]
        try:
            labels.append(float(label) if classes is None else classes.index(label))
            if not np.isfinite(labels[-1]):
                raise ValueError
        except ValueError as error:
            expected = "a number" if classes is None else f"one of {', '.join(classes)}"
            raise ValueError(f"{path}, line {line}: {label!r} is not {expected}.") from error
    return np.array(labels, "float32" if classes is None else "int32")


def file_of(folder: str, task: GlueTask, split: str) -> str:
    """Returns the path of a split's file; a ValueError if it is missing."""
    names = names_in(folder)
    if found := [name for name in task.files[split] if name in names]:
        return os.path.join(folder, found[0])
    raise ValueError(
        f"{folder} has no {' or '.join(task.files[split])}, the {split} set of {task.name}. Give "
        f"the folder of {task.name} itself, as GLUE's download script creates it."
    )
