"""Reader of GLUE's tasks, from their official files."""

import dataclasses
import logging
import os

import numpy as np

from keras_bert.files.remote import names_in
from keras_bert.messages import check_one_of
from keras_bert.metrics.glue import task_key
from keras_bert.readers.table import read_table
from keras_bert.reports import Reports

logger = logging.getLogger("keras_bert")
MALFORMED = "rows with a wrong number of columns, skipped"

_MNLI_SPLITS = ("train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched")
_FILES = {split: (f"{split}.tsv",) for split in ("train", "dev", "test")}
_MNLI_FILES = {split: (f"{split}.tsv",) for split in _MNLI_SPLITS}
_AX_FILES = {"test": ("diagnostic.tsv", "AX.tsv", "test.tsv")}
_DIGITS = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")  # as Google's run_classifier.py numbers them
_SENTENCES = ("sentence1", "sentence2")
_QUESTIONS = ("question1", "question2")
_MRPC = ("#1 String", "#2 String")
_SAME = ("not_equivalent", "equivalent")


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """Description of one GLUE task.

    Args:
        name: str, as GLUE writes it.
        texts: the columns of texts, one or two.
        label: str, the column of labels, absent in test files.
        values: the labels in files and submissions, by class number; None for regression.
        label_names: readable names of the classes, if they differ from `values`.
        files: split -> possible names of its file; the first that exists is read.
    """

    name: str
    texts: tuple[str, ...]
    label: str
    values: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    files: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=_FILES.copy)

    def class_names(self) -> list[str] | None:
        """Lists the names of the classes; returns None for regression."""
        names = self.label_names or self.values
        return None if names is None else list(names)


def glue_task(task: str) -> GlueTask:
    """Looks up the `GlueTask` with a name, such as "sts-b"."""
    return TASKS[task_key(task)]


TASKS = {
    "cola": GlueTask("CoLA", ("sentence",), "label", _DIGITS, ("unacceptable", "acceptable")),
    "sst2": GlueTask("SST-2", ("sentence",), "label", _DIGITS, ("negative", "positive")),
    "mrpc": GlueTask("MRPC", _MRPC, "Quality", _DIGITS, _SAME),
    "stsb": GlueTask("STS-B", _SENTENCES, "score"),
    "qqp": GlueTask("QQP", _QUESTIONS, "is_duplicate", _DIGITS, ("not_duplicate", "duplicate")),
    "mnli": GlueTask("MNLI", _SENTENCES, "gold_label", _NLI, files=_MNLI_FILES),
    "qnli": GlueTask("QNLI", ("question", "sentence"), "label", _ENTAILMENT),
    "rte": GlueTask("RTE", _SENTENCES, "label", _ENTAILMENT),
    "wnli": GlueTask("WNLI", _SENTENCES, "label", _DIGITS, ("not_entailment", "entailment")),
    "ax": GlueTask("AX", _SENTENCES, "label", _NLI, files=_AX_FILES),
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
        reports: a `Reports` of irregularities in the files.
    """

    task: str
    split: str
    texts: tuple[list[str], ...]
    labels: np.ndarray | None
    label_names: list[str] | None
    reports: Reports

    def __len__(self):
        return len(self.texts[0])

    def __repr__(self):
        kind = "scores" if self.is_regression else f"classes {', '.join(self.label_names)}"
        kind = "no labels" if self.labels is None else kind
        texts = "pairs of texts" if len(self.texts) == 2 else "texts"
        return f"GlueExamples({self.task} {self.split}: {len(self):,} {texts}; {kind})"

    @property
    def is_regression(self) -> bool:
        """Whether the labels are scores to predict, as in STS-B."""
        return self.label_names is None


def read_glue(
    folder: str | os.PathLike, task: str, split: str, *, malformed: str | None = None
) -> GlueExamples:
    r"""Reads a split of a GLUE task.

    It reads the files of gluebenchmark.com/tasks (Wang et al. 2019), unchanged: quotes are plain
    characters, CoLA's files have no header except for the test set, and some rows of QQP are
    broken. Classes are numbered as in Google's `run_classifier.py`.

    Args:
        folder: the task's own folder, such as `"glue_data/MRPC"`.
        task: str, `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`, `"qnli"`, `"rte"`,
            `"wnli"` or `"ax"` (the diagnostic set), in any spelling, such as `"STS-B"`.
        split: str, `"train"`, `"dev"` or `"test"`; for MNLI `"train"`, `"dev_matched"`,
            `"dev_mismatched"`, `"test_matched"` or `"test_mismatched"`; for AX `"test"`.
        malformed: `"error"`, or `"skip"` to skip rows with a wrong number of columns, which are
            counted in the examples' `reports` and logged. By default only QQP's train and dev
            sets are read with `"skip"`: their official files need it.

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
    if malformed is None:
        malformed = "skip" if description.name == "QQP" and split != "test" else "error"
    path = _path(os.fspath(folder), description, split)
    bare = description.name == "CoLA" and split != "test"
    table = read_table(path, header=not bare, delimiter="\t", quoting=False, malformed=malformed)
    if bare and len(table.columns) != 4:
        raise ValueError(
            f"{path}, line 1: {len(table.columns)} columns, but CoLA's files have 4 and no header: "
            "source, label, mark, sentence."
        )
    names, label = (("3",), "1") if bare else (description.texts, description.label)
    texts = tuple(table[name] for name in names)
    if label not in table and split.startswith("test"):
        labels = None
    elif description.values is None:
        labels = table.scores(label)
    else:
        labels = table.class_numbers(label, list(description.values))
    reports = Reports()
    for line in table.malformed:
        reports.add(MALFORMED, 1, f"line {line}")
    for line in reports.lines():
        logger.warning("%s: %s", path, line)
    return GlueExamples(description.name, split, texts, labels, description.class_names(), reports)


def _path(folder, task, split):
    names = names_in(folder)
    if found := [name for name in task.files[split] if name in names]:
        return os.path.join(folder, found[0])
    raise ValueError(
        f"{folder} has no {' or '.join(task.files[split])}, the {split} set of {task.name}. Give "
        f"the folder of {task.name} itself, as GLUE's download script creates it."
    )
