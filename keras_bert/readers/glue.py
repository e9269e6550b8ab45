"""GLUE's tasks, from their official files or from tensorflow-datasets."""

import logging
import os

import numpy as np
import tensorflow as tf

from keras_bert.files.reports import Reports
from keras_bert.readers.glue_tasks import glue_task
from keras_bert.readers.table import read_table

logger = logging.getLogger("keras_bert")
MALFORMED = "rows with a wrong number of columns, passed over"


class GlueExamples:
    """What `read_glue` gives.

    `len(examples)` is their number.

    Args:
        task: str, the task as GLUE writes it, such as `"STS-B"`.
        split: str, such as `"dev"`.
        texts: a tuple of one or two lists of strings, as `text_dataset` takes it.
        labels: `[n]` int32 class numbers, float32 of a regression, or None where there are none.
        label_names: list of str, the classes; None of a regression.
        reports: a `Reports` of what was strange.
    """

    def __init__(self, task, split, texts, labels, label_names, reports):
        self.task = task
        self.split = split
        self.texts = texts
        self.labels = labels
        self.label_names = label_names
        self.reports = reports

    def __len__(self):
        return len(self.texts[0])

    @property
    def is_regression(self):
        """Whether the labels are numbers to predict, as of STS-B."""
        return self.label_names is None


def read_glue(folder, task, split, *, malformed=None, source="tsv"):
    r"""Reads a split of a task of GLUE.

    Source: Wang et al. 2019; the files of gluebenchmark.com/tasks as they are: quotes have no
    meaning in them, CoLA's have no header except the test set's, MRPC's may be Microsoft's
    `msr_paraphrase_*.txt` with GLUE's `dev_ids.tsv` beside them, and some rows of QQP's are
    broken. Classes have the numbers that Google's `run_classifier.py` gives them.

    Args:
        folder: the task's own folder, such as `"glue_data/MRPC"`; with `source="tfds"` the data
            directory of tensorflow-datasets, or None for its usual one.
        task: str, `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`, `"qnli"`, `"rte"`,
            `"wnli"` or `"ax"` (the diagnostic set), written in any way, such as `"STS-B"`.
        split: str, `"train"`, `"dev"` or `"test"`; of MNLI `"train"`, `"dev_matched"`,
            `"dev_mismatched"`, `"test_matched"` or `"test_mismatched"`; of AX `"test"`.
        malformed: what becomes of a row with a wrong number of columns: `"error"`, or `"skip"`, to
            pass over it, counted in the examples' `reports` and logged. By default QQP's, whose
            official files need it, are passed over, except in the test set.
        source: `"tsv"` or `"tfds"`, tensorflow-datasets (`pip install keras3-bert[tfds]`), which
            downloads what it needs.

    Returns:
        A `GlueExamples`: `texts`, `labels` (None of a test set without), `label_names`.

    Raises:
        ValueError: if there is no such task, split or file, a column is missing, a row is
            malformed or a label unknown; with file and line.
        ImportError: if tensorflow-datasets is asked for and not installed.

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
    description.check_split(split)
    if source == "tfds":
        from keras_bert.readers.glue_tfds import read_tfds

        texts, labels = read_tfds(folder, task, split)
        reports = Reports()
    elif source == "tsv":
        if malformed is None:
            malformed = "skip" if description.name == "QQP" and split != "test" else "error"
        texts, labels, reports = _read_files(os.fspath(folder), description, split, malformed)
    else:
        raise ValueError(f"source must be 'tsv' or 'tfds'; got {source!r}.")
    return GlueExamples(description.name, split, texts, labels, description.class_names(), reports)


def _read_files(folder, task, split, malformed):
    """`(texts, labels, reports)` of a split's file."""
    path = _path(folder, task, split)
    bare = task.name == "CoLA" and split != "test"
    table = read_table(path, header=not bare, delimiter="\t", quoting=False, malformed=malformed)
    if bare and len(table.columns) != 4:
        raise ValueError(
            f"{path}, line 1: CoLA's files have 4 columns and no header (source, label, mark, "
            f"sentence); this row has {len(table.columns)}."
        )
    names, label = (("3",), "1") if bare else (task.texts, task.label)
    texts = tuple(table[name] for name in names)
    labels = None
    if label in table or not split.startswith("test"):
        labels = (
            table.scores(label)
            if task.values is None
            else table.class_numbers(label, list(task.values))
        )
    if os.path.basename(path) == "msr_paraphrase_train.txt":
        kept = _of_mrpc_split(folder, table, split)
        texts = tuple([column[i] for i in kept] for column in texts)
        labels = labels[kept]
    reports = Reports()
    for line in table.malformed:
        reports.add(MALFORMED, 1, f"line {line}")
    for line in reports.lines():
        logger.warning("%s: %s", path, line)
    return texts, labels, reports


def _path(folder, task, split):
    paths = [os.path.join(folder, name) for name in task.files[split]]
    for path in paths:
        if tf.io.gfile.exists(path):
            return path
    raise ValueError(
        f"{folder} has no {' or '.join(task.files[split])}, the {split} set of {task.name}. Give "
        f"the folder of {task.name} itself, as GLUE's download script makes it."
    )


def _of_mrpc_split(folder, table, split):
    """The rows of Microsoft's training file that GLUE has in a split."""
    path = os.path.join(folder, "dev_ids.tsv")
    if not tf.io.gfile.exists(path):
        raise ValueError(
            f"{table.path} holds both train and dev set; which rows are whose stands in GLUE's "
            f"dev_ids.tsv, which {folder} lacks. Get it as GLUE's download script does, or bring "
            "train.tsv and dev.tsv."
        )
    ids = read_table(path, header=False, delimiter="\t", quoting=False)
    dev = set(zip(ids["0"], ids["1"], strict=True))
    pairs = zip(table["#1 ID"], table["#2 ID"], strict=True)
    return np.flatnonzero([(pair in dev) == (split == "dev") for pair in pairs])
