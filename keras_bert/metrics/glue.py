"""The scores of GLUE's tasks."""

import numpy as np

from keras_bert.metrics.classification import classification_scores
from keras_bert.metrics.regression import regression_scores

METRICS = {
    "cola": ("mcc",),
    "sst2": ("accuracy",),
    "mrpc": ("f1", "accuracy"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("f1", "accuracy"),
    "mnli": ("accuracy",),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
    "ax": ("mcc",),
}
_THREE_CLASSES = ("mnli", "ax")


def glue_scores(task, labels, predictions):
    """The scores by which GLUE ranks a task, and the one number that they make.

    Source: Wang et al. 2019, "GLUE", table 1.

    Args:
        task: str, `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`, `"qnli"`, `"rte"`,
            `"wnli"` or `"ax"`, written in any way, such as `"STS-B"`.
        labels: `[n]` ints, the true classes; of STS-B floats.
        predictions: `[n]`, the predicted ones.

    Returns:
        A dict of floats from 0 to 1 (correlations from -1 to 1): `mcc` of CoLA and AX, `f1` and
        `accuracy` of MRPC and QQP, `pearson` and `spearman` of STS-B, `accuracy` of the others;
        and `score`, their mean.

    Raises:
        ValueError: if there is no such task, or labels and predictions don't fit it.

    Example:
    >>> glue_scores("MRPC", [1, 1, 0, 0], [1, 1, 1, 0])
    {'f1': 0.8, 'accuracy': 0.75, 'score': 0.775}
    """
    task = task_key(task)
    if task == "stsb":
        scores = regression_scores(labels, predictions)
    else:
        num_classes = 3 if task in _THREE_CLASSES else 2
        scores = classification_scores(labels, predictions, num_classes)
    scores = {name: scores[name] for name in METRICS[task]}
    return {**scores, "score": float(np.mean(list(scores.values())))}


def task_key(task):
    """The key of a task, such as "stsb", however it is written."""
    key = "".join(filter(str.isalnum, str(task).lower()))
    if key not in METRICS:
        raise ValueError(
            f"GLUE has no task {task!r}. Its tasks are: {', '.join(METRICS)}. (The two halves of "
            'MNLI are splits of it, such as "dev_matched" and "dev_mismatched".)'
        )
    return key
