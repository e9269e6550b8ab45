"""Pictures of vectors."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite, check_one_each
from keras_bert.pictures.drawing import Figure, new_figure, plain, save_figure


def plot_vectors(
    vectors: npt.ArrayLike,
    labels: Sequence[Any] | None = None,
    path: str | os.PathLike | None = None,
) -> Figure:
    """Draws vectors as points, along the two directions in which they differ most (PCA).

    Nearby points may be far apart in other directions; each axis shows its share of the variance.

    Args:
        vectors: `[n, H]` numbers, such as those of `BertEmbedder.predict`.
        labels: n class names or numbers, one color per class; or None.
        path: the file to write, such as `.svg` or `.png`; or None.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if there are fewer than two vectors, a number isn't finite, or vectors and
            labels differ in number.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_vectors(embedder.predict(texts), labels, path="vectors.png")
    ```
    """
    points, shares = principal_components(vectors)  # [n, 2] and [2]
    if labels is None:
        labels = [""] * len(points)
    labels = [str(label) for label in labels]
    check_one_each(len(points), "vectors", labels=labels)
    figure = new_figure(7, 5.5)
    panel = figure.subplots()
    _draw_points(panel, points, np.array(labels))
    panel.set_xlabel(f"{shares[0]:.0%} of the variance", fontsize=9)
    panel.set_ylabel(f"{shares[1]:.0%} of the variance", fontsize=9)
    if len(set(labels)) > 1:
        panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    return save_figure(figure, path)


def principal_components(vectors: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Projects vectors `[n, H]` to their two principal components, with their shares of variance.

    >>> points, shares = principal_components([[3, 0, 1], [-3, 0, 1], [0, 1, 1], [0, -1, 1]])
    >>> abs(points[0]).tolist(), shares.round(2).tolist()
    ([3.0, 0.0], [0.9, 0.1])
    """
    vectors = np.asarray(vectors, "float64")
    if vectors.ndim != 2 or min(vectors.shape) < 2:
        raise ValueError(f"Vectors must be [n, H], two or more of each; got {vectors.shape}.")
    check_all_finite("Vectors", vectors, "Remove those rows.")
    centered = vectors - vectors.mean(axis=0)
    variances, directions = np.linalg.eigh(centered.T @ centered)  # in ascending order
    shares = variances / max(variances.sum(), 1e-30)
    largest = [-1, -2]
    return centered @ directions[:, largest], shares[largest]


def _draw_points(panel, points, labels):
    from matplotlib import colormaps

    size = float(np.clip(3000 / len(points), 3, 36))
    classes = np.unique(labels)
    if len(classes) <= 10:
        colors = colormaps["tab10"](range(len(classes)))
    else:
        colors = colormaps["turbo"](np.linspace(0, 1, len(classes)))
    for label, color in zip(classes, colors, strict=True):
        x, y = points[labels == label].T
        panel.scatter(x, y, s=size, color=color, label=plain(label))
