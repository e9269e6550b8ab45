"""Pictures of vectors."""

import numbers
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.pictures.drawing import new_figure, plain, save_figure
from keras_bert.pictures.score_pictures import COLORS
from keras_bert.pictures.vector_checks import checked_vectors

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

_MOST_NAMES = 40


def plot_vectors(
    vectors: "npt.ArrayLike",
    labels: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    path: str | os.PathLike | None = None,
) -> "Figure":
    """Draws vectors as points, by the two directions in which they differ most (PCA).

    Near points may be far apart in the other directions, so that the axes say what share of the
    variance they show. `save_projector` shows three directions, and other maps.

    Args:
        vectors: `[n, H]` numbers, such as those of `BertEmbedder.predict`.
        labels: n names or numbers of classes, each of a color; or None.
        texts: n strings, written next to their points as far as there is room; or None.
        path: the file to write; its ending gives the format, such as `.svg` or `.png`. None writes
            nothing.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if there are fewer than two vectors, they have another shape, a number isn't
            finite, or labels or texts are not n.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_vectors(embedder.predict(texts), labels, path="vectors.png")
    ```
    """
    from sklearn.decomposition import PCA

    vectors, columns = checked_vectors(vectors, 2, labels=labels, texts=texts)
    pca = PCA(2, svd_solver="full" if len(vectors) <= 2000 else "randomized", random_state=0)
    with np.errstate(invalid="ignore"):  # of equal vectors
        points = pca.fit_transform(vectors)  # [n, 2]
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    points[:, shares < 1e-9] = 0  # no more than rounding
    figure = new_figure(7, 5.5)
    panel = figure.subplots()
    _draw_points(figure, panel, points, columns.get("labels"), named="texts" not in columns)
    for axis, share in zip((panel.xaxis, panel.yaxis), shares, strict=True):
        axis.set_label_text(f"{share:.0%} of the variance", fontsize=9)
        axis.set_tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()  # texts need the final places of points
    if "texts" in columns:
        _write_texts(panel, points, [plain(text, 40) for text in columns["texts"]])
    return save_figure(figure, path)


def _draw_points(figure, panel, points, labels, named):
    """Draws points with a color for each class, a legend, and the names of many classes."""
    labels = [""] * len(points) if labels is None else labels
    counts = Counter(labels)
    classes = sorted(counts, key=_order)
    size = float(np.clip(3000 / len(points), 3, 36))
    alpha = 0.8 if len(points) <= 300 else 0.5
    handles, centers = {}, []
    for number, label in enumerate(classes):
        own = points[[each == label for each in labels]]
        color = _color(number, len(classes))
        name = plain(label)
        handles[label] = panel.scatter(*own.T, size, color=color, alpha=alpha, label=name, lw=0)
        centers.append(np.median(own, axis=0))
    panel.margins(0.08)
    if len(classes) < 2:
        return
    most = {label for label, _ in counts.most_common(_MOST_NAMES)}
    shown = [handle for label, handle in handles.items() if label in most]
    _add_legend(figure, panel, shown, len(classes))
    if named and len(classes) > len(COLORS):  # more than an eye tells apart by color
        figure.tight_layout()
        _write_texts(panel, np.array(centers), [*map(plain, classes)], bold=True)


def _order(label):
    """Sorts numbers as numbers, before names."""
    is_number = isinstance(label, numbers.Real)
    return (not is_number, label if is_number else 0, str(label))


def _color(number, count):
    """Returns a color for a class, distinct to all people if there are few."""
    if count <= len(COLORS):
        return COLORS[number]
    from matplotlib import colormaps

    return colormaps["turbo"](0.05 + 0.9 * number / (count - 1))


def _add_legend(figure, panel, shown, count):
    legend = panel.legend(
        handles=shown,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=8,
        ncols=1 + (len(shown) - 1) // 22,
        title=f"{len(shown)} of {count} classes" if count > len(shown) else None,
        title_fontsize=8,
        borderaxespad=0,
    )
    for handle in legend.legend_handles:
        handle.set_sizes([30])
        handle.set_alpha(1)
    width = legend.get_window_extent().width / figure.dpi
    figure.set_figwidth(figure.get_figwidth() + width)


def _write_texts(panel, points, texts, bold=False):
    """Writes texts next to their points, or bold on them, if they don't cover an earlier one."""
    from matplotlib.patheffects import withStroke

    places = panel.transData.transform(points) * 72 / panel.figure.dpi  # in points, as fonts
    middle = np.mean(panel.transAxes.transform([[0, 0], [1, 1]])[:, 0]) * 72 / panel.figure.dpi
    style = {"fontsize": 7, "va": "center_baseline", "weight": "bold" if bold else None}
    style["path_effects"] = [withStroke(linewidth=2, foreground="white")] if bold else None
    taken = np.zeros((0, 4))
    for (x, y), point, text in zip(places, points, texts, strict=True):
        width, side = 3.9 * len(text), 1 if x < middle else -1  # within the axes
        left = x - width / 2 if bold else min(x + 4 * side, x + (4 + width) * side)
        box = np.array([left, y - 4, left + width, y + 4])
        covers = (taken[:, :2] < box[2:]).all(axis=1) & (taken[:, 2:] > box[:2]).all(axis=1)
        if covers.any():
            continue
        taken = np.concatenate([taken, box[None]])
        align = "center" if bold else "left" if side > 0 else "right"
        offset = (0 if bold else 4 * side, 0)
        panel.annotate(text, point, offset, textcoords="offset points", ha=align, **style)
