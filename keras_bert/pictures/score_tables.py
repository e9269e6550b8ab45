"""Tables that compare models by their scores: CSV, Markdown and a picture."""

import csv
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.files.whole import whole_file
from keras_bert.pictures.score_pictures import plot_scores


def write_score_table(
    scores: Sequence[dict[str, Any]],
    path: str | os.PathLike,
    others: dict[str, dict[str, str]] | None = None,
) -> None:
    """Writes scores of several models as PATH.csv, PATH.md and PATH.svg.

    The CSV has a line for each score. The Markdown has a row for each model, or for each step of a
    model, and a column for each metric, with the mean and the standard deviation of its scores. The
    picture is that of `plot_scores`; without matplotlib it is left out, with a message.

    Args:
        scores: dicts of `row`, the model's name; `metric`, its name; `value`, a number; and
            `step`, an int or None. Other keys, the same in all, are columns of the CSV.
        path: the files' path without ending.
        others: `{row: {column: str}}`, published figures, for columns and rows of their own or of
            the scores; or None.

    Raises:
        ValueError: if there are no scores.

    Example:
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "table"
    >>> scores = [{"row": "BERT", "metric": "F1", "value": value} for value in (90.0, 91.0)]
    >>> write_score_table(scores, path, {"BERT": {"F1 (paper)": "92.4"}})
    >>> print(path.with_suffix(".md").read_text(), end="")
    |  | F1 | F1 (paper) |
    | --- | ---: | ---: |
    | BERT | 90.5 ± 0.7 | 92.4 |
    """
    if not scores:
        raise ValueError("There are no scores to write.")
    lines = io.StringIO(newline="")
    writer = csv.DictWriter(lines, scores[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**score, "value": f"{score['value']:.6g}"} for score in scores)
    for ending, text in ((".csv", lines.getvalue()), (".md", _markdown(scores, others or {}))):
        with whole_file(f"{os.fspath(path)}{ending}") as file:
            file.write(text)
    try:
        plot_scores(scores, f"{os.fspath(path)}.svg")
    except ImportError as error:
        print(f"No picture: {error}")


def _markdown(scores, others):
    columns = [score["metric"] for score in scores]
    columns = list(dict.fromkeys(columns + [column for row in others.values() for column in row]))
    groups = {row: {} for row in map(_name, scores)} | {row: {} for row in others}
    for score in scores:
        groups[_name(score)].setdefault(score["metric"], []).append(score["value"])
    lines = [["", *columns], ["---", *["---:"] * len(columns)]]
    for row, values in groups.items():
        theirs = others.get(row, {})
        own = {column: _summary(values[column]) for column in values}
        lines.append([row, *(own.get(column, theirs.get(column, "")) for column in columns)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _name(score):
    step = score.get("step")
    return score["row"] if step is None else f"{score['row']}, step {step:,}"


def _summary(values):
    spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"
