"""Pictures that compare models by their scores."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.pictures.drawing import new_figure, plain, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
"""Distinct to people with any color vision (Okabe and Ito 2008)."""


def plot_scores(
    scores: Iterable[dict[str, Any]],
    path: str | os.PathLike | None = None,
    title: str = "",
    best: str | None = None,
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
        best: str, the name of a model whose lines stand out from gray ones; or None.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if there are no scores, or none of `best`.
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
    if best is not None and best not in rows:
        raise ValueError(f"best must be one of {', '.join(map(repr, rows))}; got {best!r}.")
    has_steps = any(score.get("step") is not None for score in scores)
    columns = min(3, len(metrics))
    lines = -(-len(metrics) // columns)
    height = 2.6 if has_steps else 0.9 + 0.32 * len(rows)
    figure = new_figure(3.6 * columns + (0 if has_steps else 1.2), height * lines + 0.5)
    if title or (has_steps and len(rows) == 1):
        figure.suptitle(plain(title or rows[0], int(12 * figure.get_figwidth())), fontsize=10)
    panels = figure.subplots(lines, columns, squeeze=False, sharey=not has_steps).ravel()
    groups = {}
    for score in scores:
        group = groups.setdefault(score["metric"], {}).setdefault(score["row"], {})
        group.setdefault(score.get("step"), []).append(score["value"])
    for panel, metric in zip(panels, metrics, strict=False):
        if has_steps:
            _draw_lines(panel, groups[metric], _styles(rows, best))
        else:
            _draw_dots(panel, groups[metric], rows)
        panel.set_title(plain(metric, 40), fontsize=10)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(metrics) :]:
        panel.set_axis_off()
    if has_steps and len(rows) > 1:
        free = panels[len(metrics) :]
        place = (free[0], 0.0) if len(free) else (panels[columns - 1], 1.02)
        _add_legend(figure, *place, _styles(rows, best))
    return save_figure(figure, path)


def _styles(rows, best):
    """Returns how the line of each model looks, and the name in the legend."""
    if best is not None:
        gray = {"color": "#999999", "linewidth": 0.8, "alpha": 0.6, "zorder": 1.5, "label": None}
        styles = {row: gray for row in rows if row != best}
        if styles:
            first = next(iter(styles))
            styles[first] = {**gray, "label": f"{len(styles)} other{'s' * (len(styles) > 1)}"}
        return {best: {"label": plain(best, 60), "color": COLORS[1], "zorder": 3}, **styles}
    colors = COLORS
    if len(rows) > len(COLORS):
        from matplotlib import colormaps

        colors = colormaps["turbo"](np.linspace(0.05, 0.95, len(rows)))
    return {
        row: {"label": plain(row, 60), "color": color}
        for row, color in zip(rows, colors, strict=False)
    }


def _draw_lines(panel, groups, styles):
    marker = "o" if max(map(len, groups.values())) <= 30 else None
    for row, style in styles.items():
        steps = sorted(groups.get(row, ()))
        if steps:
            means, deviations = _summaries([groups[row][step] for step in steps])
            panel.plot(steps, means, marker=marker, markersize=3, **style)
            if deviations.any():
                ends = (means - deviations, means + deviations)
                panel.fill_between(steps, *ends, color=style["color"], alpha=0.2)
    panel.locator_params(axis="x", integer=True)
    panel.set_xlabel("steps", fontsize=8)
    panel.tick_params(labelsize=8)


def _add_legend(figure, panel, left, styles):
    """Adds a legend where it covers no line: in a free panel, or right of the panels."""
    from matplotlib.lines import Line2D

    shown = [Line2D([], [], **style) for style in styles.values() if style["label"]]
    legend = panel.legend(
        handles=shown,
        loc="upper left",
        bbox_to_anchor=(left, 1.0),
        borderaxespad=0,
        frameon=False,
        fontsize=8,
        ncols=1 + (len(shown) - 1) // 40,
    )
    extent = legend.get_window_extent()
    width, height = extent.width / figure.dpi, extent.height / figure.dpi
    lines = panel.get_gridspec().nrows if left == 0 else 1
    width = max(0, width - 3.2) if left == 0 else width
    figure.set_figwidth(figure.get_figwidth() + width)
    figure.set_figheight(max(figure.get_figheight(), lines * (height + 0.6)))


def _draw_dots(panel, groups, rows):
    means, deviations = _summaries(
        [[value for values in groups.get(row, {}).values() for value in values] for row in rows]
    )
    places = np.arange(len(rows))
    panel.errorbar(means, places, xerr=deviations, fmt="o", capsize=3, color=COLORS[0])
    panel.set_yticks(places, [plain(row, 60) for row in rows], fontsize=8)
    panel.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
    panel.tick_params(axis="x", labelsize=8)


def _summaries(groups):
    """Returns the means and standard deviations of groups of values; NaN without any."""
    means = np.array([np.mean(group) if group else np.nan for group in groups])
    return means, np.array([np.std(group, ddof=1) if len(group) > 1 else 0.0 for group in groups])
