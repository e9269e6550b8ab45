"""GLUE's tasks: their files, their classes and their scores."""

import dataclasses

import numpy as np
import numpy.typing as npt

from keras_bert.metrics import classification_scores, regression_scores

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
_QUALITY = ("unacceptable", "acceptable")
_SAME = ("not_equivalent", "equivalent")
_TWICE = ("not_duplicate", "duplicate")
_MCC, _F1, _CORRELATIONS = ("mcc",), ("f1", "accuracy"), ("pearson", "spearman")


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """Description of one GLUE task.

    Args:
        name: str, as GLUE writes it.
        texts: the columns of texts, one or two.
        label: str, the column of labels, absent in test files.
        values: the labels in files and submissions, by class number; None for regression.
        label_names: readable names of the classes, if they differ from `values`.
        metrics: the scores by which GLUE ranks the task (Wang et al. 2019, "GLUE", table 1).
        files: split -> possible names of its file; the first that exists is read.
    """

    name: str
    texts: tuple[str, ...]
    label: str
    values: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    metrics: tuple[str, ...] = ("accuracy",)
    files: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=_FILES.copy)

    def class_names(self) -> list[str] | None:
        """Lists the names of the classes; returns None for regression."""
        names = self.label_names or self.values
        return None if names is None else list(names)


TASKS = {
    "cola": GlueTask("CoLA", ("sentence",), "label", _DIGITS, _QUALITY, _MCC),
    "sst2": GlueTask("SST-2", ("sentence",), "label", _DIGITS, ("negative", "positive")),
    "mrpc": GlueTask("MRPC", _MRPC, "Quality", _DIGITS, _SAME, _F1),
    "stsb": GlueTask("STS-B", _SENTENCES, "score", metrics=_CORRELATIONS),
    "qqp": GlueTask("QQP", _QUESTIONS, "is_duplicate", _DIGITS, _TWICE, _F1),
    "mnli": GlueTask("MNLI", _SENTENCES, "gold_label", _NLI, files=_MNLI_FILES),
    "qnli": GlueTask("QNLI", ("question", "sentence"), "label", _ENTAILMENT),
    "rte": GlueTask("RTE", _SENTENCES, "label", _ENTAILMENT),
    "wnli": GlueTask("WNLI", _SENTENCES, "label", _DIGITS, ("not_entailment", "entailment")),
    "ax": GlueTask("AX", _SENTENCES, "label", _NLI, metrics=_MCC, files=_AX_FILES),
}


def task_key(task: str) -> str:
    """Returns a task's name in lower case without punctuation, such as "stsb" for "STS-B"."""
    return "".join(filter(str.isalnum, str(task).lower()))


def glue_task(task: str) -> GlueTask:
    """Looks up the `GlueTask` with a name, such as "sts-b"."""
    if task_key(task) not in TASKS:
        raise ValueError(
            f"GLUE has no task {task!r}. Its tasks are: {', '.join(TASKS)}. (The two halves of "
            'MNLI are its splits, such as "dev_matched" and "dev_mismatched".)'
        )
    return TASKS[task_key(task)]


def glue_scores(task: str, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes the scores by which GLUE ranks a task, and their mean.

    Args:
        task: str, a key of `TASKS`; case and punctuation don't matter (`"STS-B"`).
        labels: `[n]` ints, the true classes; floats for STS-B.
        predictions: `[n]`, the predicted classes or floats.

    Returns:
        A dict of floats from 0 to 1 (correlations from -1 to 1): the task's `metrics`, and `score`,
        their mean.

    Raises:
        ValueError: if the task is unknown, or labels or predictions are invalid for it.

    Example:
    >>> glue_scores("MRPC", [1, 1, 0, 0], [1, 1, 1, 0])
    {'f1': 0.8, 'accuracy': 0.75, 'score': 0.775}
    """
    description = glue_task(task)
    if description.values is None:
        scores = regression_scores(labels, predictions)
    else:
        scores = classification_scores(labels, predictions, len(description.values))
    scores = {name: scores[name] for name in description.metrics}
    return {**scores, "score": float(np.mean(list(scores.values())))}
