"""Scores as tables of pandas."""

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def score_frame(scores: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
    """Makes a table of scores, which a notebook shows; needs pandas.

    | scores of | rows | columns |
    |---|---|---|
    | `model.scores` | all, then each class that has scores of its own | scores |
    | `finetune`, `train_epochs` | epochs | scores |
    | `finetune_grid` | runs, the best first | settings, scores |
    | `write_score_table` | models, or their steps | metrics, the means over seeds |
    | `read_glue_results` | seeds | GLUE's columns |

    Args:
        scores: what one of these functions returned, or takes.

    Returns:
        A `pandas.DataFrame`.

    Raises:
        ValueError: if there are no scores.
        ImportError: if pandas isn't installed.

    Example:
    >>> history = [{"accuracy": 0.5, "f1": 0.25}, {"accuracy": 0.75, "f1": 0.5}]
    >>> print(score_frame(history))
           accuracy    f1
    epoch
    1          0.50  0.25
    2          0.75  0.50
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Tables need pandas: pip install pandas.") from error
    rows = [scores] if isinstance(scores, Mapping) else list(scores)
    if not rows or not all(isinstance(row, Mapping) and row for row in rows):
        raise ValueError(
            "score_frame takes a dict of scores, or a list of such dicts, as model.scores and "
            f"finetune return them; got {type(scores).__name__}{'' if rows else ' without any'}."
        )
    if isinstance(scores, Mapping):
        classes = next((value for value in scores.values() if isinstance(value, Mapping)), {})
        return pandas.DataFrame.from_dict({"all": _numbers(scores), **classes}, orient="index")
    if all({"metric", "value"} <= {*row} for row in rows):
        return _by_metric(pandas.DataFrame(rows))
    frame = pandas.DataFrame(map(_numbers, rows))
    if "epoch" not in frame:
        frame.index = pandas.RangeIndex(1, len(frame) + 1, name="epoch")
    return frame


def _by_metric(frame):
    """Turns a line for each score into a column for each metric."""
    index = [name for name in ("row", "step") if name in frame and frame[name].notna().all()]
    index = index or [name for name in ("seed",) if name in frame]
    columns = frame["metric"].drop_duplicates()
    table = frame.pivot_table("value", index or (lambda _: 0), "metric", "mean", sort=False)
    return table[columns].rename_axis(columns=None)


def _numbers(row):
    return {name: value for name, value in row.items() if isinstance(value, (numbers.Real, str))}
