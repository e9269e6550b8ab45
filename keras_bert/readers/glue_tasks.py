"""The GLUE tasks: columns of texts and labels, names of files, splits and classes."""

import dataclasses

from keras_bert.metrics.glue import task_key

_SPLITS = ("train", "dev", "test")
_MNLI_SPLITS = ("train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched")
_DIGITS = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")  # as Google's run_classifier.py numbers them
_SENTENCES = ("sentence1", "sentence2")
_PREMISE = ("premise", "hypothesis")


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """Description of one GLUE task.

    Args:
        name: str, as GLUE writes it.
        texts: the columns of texts, one or two.
        label: str, the column of labels, absent in test files.
        values: the labels in files and submissions, by class number; None for regression.
        label_names: readable names of the classes, if they differ from `values`.
        tfds_texts: the columns of texts in tensorflow-datasets, if they differ from `texts`.
        files: split -> possible names of its file; the first that exists is read.
    """

    name: str
    texts: tuple[str, ...]
    label: str
    values: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    tfds_texts: tuple[str, ...] | None = None
    files: dict = dataclasses.field(default_factory=lambda: {s: (f"{s}.tsv",) for s in _SPLITS})

    def check_split(self, split: str) -> None:
        """Raises a ValueError if the task has no such split."""
        if split not in self.files:
            raise ValueError(
                f"{self.name} has no split {split!r}. Its splits are: {', '.join(self.files)}."
            )

    def class_names(self) -> list[str] | None:
        """Lists the names of the classes; returns None for regression."""
        names = self.label_names or self.values
        return None if names is None else list(names)

    def submission(self, split: str) -> str:
        """Returns the name of the file that GLUE's server expects."""
        if self.name == "MNLI":
            return f"MNLI-{'mm' if split.endswith('mismatched') else 'm'}.tsv"
        return f"{self.name}.tsv"


def glue_task(task: str) -> GlueTask:
    """Looks up the `GlueTask` with a name, such as "sts-b"."""
    return TASKS[task_key(task)]


TASKS = {
    "cola": GlueTask(
        name="CoLA",
        texts=("sentence",),
        label="label",
        values=_DIGITS,
        label_names=("unacceptable", "acceptable"),
    ),
    "sst2": GlueTask(
        name="SST-2",
        texts=("sentence",),
        label="label",
        values=_DIGITS,
        label_names=("negative", "positive"),
    ),
    "mrpc": GlueTask(
        name="MRPC",
        texts=("#1 String", "#2 String"),
        label="Quality",
        values=_DIGITS,
        label_names=("not_equivalent", "equivalent"),
        tfds_texts=_SENTENCES,
    ),
    "stsb": GlueTask(name="STS-B", texts=_SENTENCES, label="score"),
    "qqp": GlueTask(
        name="QQP",
        texts=("question1", "question2"),
        label="is_duplicate",
        values=_DIGITS,
        label_names=("not_duplicate", "duplicate"),
    ),
    "mnli": GlueTask(
        name="MNLI",
        texts=_SENTENCES,
        label="gold_label",
        values=_NLI,
        tfds_texts=_PREMISE,
        files={split: (f"{split}.tsv",) for split in _MNLI_SPLITS},
    ),
    "qnli": GlueTask(
        name="QNLI", texts=("question", "sentence"), label="label", values=_ENTAILMENT
    ),
    "rte": GlueTask(name="RTE", texts=_SENTENCES, label="label", values=_ENTAILMENT),
    "wnli": GlueTask(
        name="WNLI",
        texts=_SENTENCES,
        label="label",
        values=_DIGITS,
        label_names=("not_entailment", "entailment"),
    ),
    "ax": GlueTask(
        name="AX",
        texts=_SENTENCES,
        label="label",
        values=_NLI,
        tfds_texts=_PREMISE,
        files={"test": ("diagnostic.tsv", "AX.tsv", "test.tsv")},
    ),
}
