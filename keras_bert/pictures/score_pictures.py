"""Pictures that compare models by their scores."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.pictures.drawing import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
"""Distinct to people with any color vision (Okabe and Ito 2008)."""


def plot_scores(
    scores: Iterable[dict[str, Any]], path: str | os.PathLike | None = None, title: str = ""
) -> "Figure":
    """Draws scores of several models: a panel for each metric.

    If the scores have a `step`, a panel shows a line for each model over its steps; otherwise, a
    dot for each model. Several scores of a model, such as those of several seeds, become their mean
    with a bar of one standard deviation.

    Args:
        scores: dicts of `row`, the model's name; `metric`, its name; `value`, a number; and
            `step`, an int, or None.
        path: the file to write; its ending gives the format, such as `.svg` or `.png`. None writes
            nothing.
        title: str, above the panels.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if there are no scores.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    scores = [
        {"row": "BERT", "metric": "F1", "value": 90.1},
        {"row": "No NSP", "metric": "F1", "value": 89.5},
    ]
    plot_scores(scores, "scores.svg")
    ```
    """
    scores = list(scores)
    if not scores:
        raise ValueError("There are no scores to draw.")
    metrics = list(dict.fromkeys(score["metric"] for score in scores))
    rows = list(dict.fromkeys(score["row"] for score in scores))
    has_steps = any(score.get("step") is not None for score in scores)
    columns = min(3, len(metrics))
    lines = -(-len(metrics) // columns)
    height = 2.6 if has_steps else 0.9 + 0.32 * len(rows)
    figure = new_figure(3.6 * columns + (0 if has_steps else 1.2), height * lines + 0.5)
    figure.suptitle(title)
    panels = figure.subplots(lines, columns, squeeze=False, sharey=not has_steps).ravel()
    for panel, metric in zip(panels, metrics, strict=False):
        own = [score for score in scores if score["metric"] == metric]
        (_draw_lines if has_steps else _draw_dots)(panel, own, rows)
        panel.set_title(metric, fontsize=10)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(metrics) :]:
        panel.set_visible(False)
    if has_steps:
        panels[0].legend(frameon=False, fontsize=8)
    return save_figure(figure, path)


def _draw_lines(panel, scores, rows):
    for number, row in enumerate(rows):
        own = [score for score in scores if score["row"] == row]
        steps = sorted({score["step"] for score in own})
        means, deviations = _summaries(own, "step", steps)
        color = COLORS[number % len(COLORS)]
        marker = "o" if len(steps) <= 30 else None
        panel.plot(steps, means, marker=marker, markersize=3, color=color, label=row)
        panel.fill_between(steps, means - deviations, means + deviations, color=color, alpha=0.2)
    panel.set_xlabel("steps", fontsize=8)
    panel.tick_params(labelsize=8)


def _draw_dots(panel, scores, rows):
    means, deviations = _summaries(scores, "row", rows)
    places = np.arange(len(rows))
    panel.errorbar(means, places, xerr=deviations, fmt="o", capsize=3, color=COLORS[0])
    panel.set_yticks(places, rows, fontsize=8)
    panel.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
    panel.tick_params(axis="x", labelsize=8)


def _summaries(scores, name, values):
    """Returns the means and standard deviations of scores that share a value; NaN without any."""
    groups = [[score["value"] for score in scores if score[name] == value] for value in values]
    means = np.array([np.mean(group) if group else np.nan for group in groups])
    return means, np.array([np.std(group, ddof=1) if len(group) > 1 else 0.0 for group in groups])
