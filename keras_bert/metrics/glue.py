"""GLUE scores."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.labels import classification_scores, regression_scores

METRICS = {
    "cola": ("mcc",),
    "sst2": ("accuracy",),
    "mrpc": ("f1", "accuracy"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("f1", "accuracy"),
    **dict.fromkeys(("mnli", "qnli", "rte", "wnli"), ("accuracy",)),
    "ax": ("mcc",),
}


def glue_scores(task: str, labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes the scores by which GLUE ranks a task, and their mean.

    Source: Wang et al. 2019, "GLUE", table 1.

    Args:
        task: str, `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`, `"qnli"`, `"rte"`,
            `"wnli"` or `"ax"`; case and punctuation don't matter (`"STS-B"`).
        labels: `[n]` ints, the true classes; floats for STS-B.
        predictions: `[n]`, the predicted classes or floats.

    Returns:
        A dict of floats from 0 to 1 (correlations from -1 to 1): `mcc` for CoLA and AX, `f1` and
        `accuracy` for MRPC and QQP, `pearson` and `spearman` for STS-B, `accuracy` for the others;
        and `score`, their mean.

    Raises:
        ValueError: if the task is unknown, or labels or predictions are invalid for it.

    Example:
    >>> glue_scores("MRPC", [1, 1, 0, 0], [1, 1, 1, 0])
    {'f1': 0.8, 'accuracy': 0.75, 'score': 0.775}
    """
    task = task_key(task)
    if task == "stsb":
        scores = regression_scores(labels, predictions)
    else:
        scores = classification_scores(labels, predictions, 3 if task in ("mnli", "ax") else 2)
    scores = {name: scores[name] for name in METRICS[task]}
    return {**scores, "score": float(np.mean(list(scores.values())))}


def task_key(task: str) -> str:
    """Returns the key of a task, such as "stsb" for "STS-B"."""
    key = "".join(filter(str.isalnum, str(task).lower()))
    if key not in METRICS:
        raise ValueError(
            f"GLUE has no task {task!r}. Its tasks are: {', '.join(METRICS)}. (The two halves of "
            'MNLI are its splits, such as "dev_matched" and "dev_mismatched".)'
        )
    return key
