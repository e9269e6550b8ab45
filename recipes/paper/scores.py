"""Tables that compare models by their scores: CSV, Markdown and a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from _tables import write_table
from keras_bert.files.whole import whole_file


def write_score_table(
    scores: Sequence[dict[str, Any]],
    path: str | Path,
    others: dict[str, dict[str, str]] | None = None,
) -> None:
    """Writes scores of several models as PATH.csv, PATH.md and PATH.svg.

    The CSV has a line for each score. The Markdown has a row for each model, or for each step of a
    model, and a column for each metric, with the mean and the standard deviation of its scores.
    Without matplotlib there is no picture.

    Args:
        scores: dicts of `row`, the model's name; `metric`, its name; `value`, a number; and
            `step`, an int or None. Other keys, the same in all, are columns of the CSV.
        path: the files' path without ending.
        others: `{row: {column: str}}`, published figures; or None.
    """
    lines = [{**score, "value": f"{score['value']:.6g}"}.values() for score in scores]
    write_table(f"{path}.csv", [[*scores[0]], *lines])
    with whole_file(f"{path}.md") as file:
        file.write(_markdown(scores, others or {}))
    try:
        from matplotlib import rc_context
    except ImportError as error:
        print(f'No picture: {error}: pip install "keras3-bert[recipes]"')
        return
    with whole_file(f"{path}.svg", "wb") as file, rc_context({"svg.hashsalt": "keras_bert"}):
        _drawn(scores).savefig(
            file, format="svg", metadata={"Date": None}
        )  # equal for equal scores


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


def _drawn(scores):
    """Draws a panel for each metric: means with bars of one standard deviation."""
    from matplotlib.figure import Figure

    metrics = dict.fromkeys(score["metric"] for score in scores)
    rows = list(dict.fromkeys(score["row"] for score in scores))
    has_steps = any(score.get("step") is not None for score in scores)
    height = 3.0 if has_steps else 1.0 + 0.32 * len(rows)
    figure = Figure(figsize=(4.0 * len(metrics), height), layout="tight")
    panels = figure.subplots(1, len(metrics), squeeze=False, sharey=not has_steps)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        for place, row in enumerate(rows):
            steps = {}
            for score in scores:
                if (score["row"], score["metric"]) == (row, metric):
                    steps.setdefault(score.get("step"), []).append(score["value"])
            means = [np.mean(values) for values in steps.values()]
            bars = [np.std(values, ddof=len(values) > 1) for values in steps.values()]
            if has_steps:
                panel.errorbar([*steps], means, yerr=bars, capsize=3, label=row)
            elif means:
                panel.errorbar(means, [place], xerr=bars, fmt="o", capsize=3, color="C0")
        panel.set_title(metric, fontsize=10)
        panel.grid(alpha=0.3)
    if has_steps:
        panels[-1].legend(fontsize=8)
    else:
        panels[0].set_yticks(range(len(rows)), rows)
        panels[0].invert_yaxis()  # the first row on top
    return figure
