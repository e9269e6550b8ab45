"""The GLUE tasks: columns of texts and labels, names of files, splits and classes."""

import dataclasses

from keras_bert.metrics.glue import task_key

_MNLI_SPLITS = ("train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched")
_FILES = {split: (f"{split}.tsv",) for split in ("train", "dev", "test")}
_MNLI_FILES = {split: (f"{split}.tsv",) for split in _MNLI_SPLITS}
_AX_FILES = {"test": ("diagnostic.tsv", "AX.tsv", "test.tsv")}
_DIGITS = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")  # as Google's run_classifier.py numbers them
_SENTENCES = ("sentence1", "sentence2")
_PREMISE = ("premise", "hypothesis")
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
        tfds_texts: the columns of texts in tensorflow-datasets, if they differ from `texts`.
        files: split -> possible names of its file; the first that exists is read.
    """

    name: str
    texts: tuple[str, ...]
    label: str
    values: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    tfds_texts: tuple[str, ...] | None = None
    files: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=_FILES.copy)

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
    "cola": GlueTask("CoLA", ("sentence",), "label", _DIGITS, ("unacceptable", "acceptable")),
    "sst2": GlueTask("SST-2", ("sentence",), "label", _DIGITS, ("negative", "positive")),
    "mrpc": GlueTask("MRPC", _MRPC, "Quality", _DIGITS, _SAME, tfds_texts=_SENTENCES),
    "stsb": GlueTask("STS-B", _SENTENCES, "score"),
    "qqp": GlueTask("QQP", _QUESTIONS, "is_duplicate", _DIGITS, ("not_duplicate", "duplicate")),
    "mnli": GlueTask(
        "MNLI", _SENTENCES, "gold_label", _NLI, tfds_texts=_PREMISE, files=_MNLI_FILES
    ),
    "qnli": GlueTask("QNLI", ("question", "sentence"), "label", _ENTAILMENT),
    "rte": GlueTask("RTE", _SENTENCES, "label", _ENTAILMENT),
    "wnli": GlueTask("WNLI", _SENTENCES, "label", _DIGITS, ("not_entailment", "entailment")),
    "ax": GlueTask("AX", _SENTENCES, "label", _NLI, tfds_texts=_PREMISE, files=_AX_FILES),
}
