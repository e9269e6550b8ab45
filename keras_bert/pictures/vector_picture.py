"""Pictures of vectors."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_one_each
from keras_bert.pictures.drawing import Figure, new_figure, plain, save_figure

_PLACES = [((5, 0), "left", "center"), ((-5, 0), "right", "center")]
_PLACES += [((0, 5), "center", "bottom"), ((0, -5), "center", "top")]


def plot_vectors(
    vectors: npt.ArrayLike,
    labels: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    path: str | os.PathLike | None = None,
) -> Figure:
    """Draws vectors as points, along the two directions in which they differ most (PCA).

    Nearby points may be far apart in other directions; each axis shows its share of the variance.

    Args:
        vectors: `[n, H]` numbers, such as those of `BertEmbedder.predict`.
        labels: n class names or numbers, one color per class; or None.
        texts: n strings, written next to their points where there is room; or None.
        path: the file to write, such as `.svg` or `.png`; or None.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if there are fewer than two vectors, a number isn't finite, or vectors, labels
            and texts differ in number.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_vectors(embedder.predict(texts), labels, path="vectors.png")
    ```
    """
    from matplotlib import colormaps
    from matplotlib.transforms import Bbox
    from sklearn.decomposition import PCA

    pca = PCA(2, random_state=0)
    points = pca.fit_transform(vectors)  # [n, 2]
    labels = [""] * len(points) if labels is None else [str(label) for label in labels]
    texts = [""] * len(points) if texts is None else texts
    check_one_each(len(points), "vectors", labels=labels, texts=texts)
    figure = new_figure(7, 5.5)
    panel = figure.subplots()
    classes = sorted({*labels})
    colors = colormaps["tab10" if len(classes) <= 10 else "turbo"]
    size = float(np.clip(3000 / len(points), 3, 36))
    for number, label in enumerate(classes):
        own = points[[each == label for each in labels]]
        color = colors(number if len(classes) <= 10 else number / (len(classes) - 1))
        panel.scatter(*own.T, s=size, color=color, label=plain(label))
    for axis, share in zip((panel.xaxis, panel.yaxis), pca.explained_variance_ratio_, strict=True):
        axis.set_label_text(f"{share:.0%} of the variance", fontsize=9)
    if len(classes) > 1:
        panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    if any(texts):
        figure.draw_without_rendering()  # places the panel
    places = panel.transData.transform(points)  # in pixels
    taken = [Bbox.from_extents(*(place - 3), *(place + 3)) for place in places]
    for point, text in zip(points, texts, strict=True):
        for offset, ha, va in _PLACES:
            options = {"textcoords": "offset points", "fontsize": 7, "ha": ha, "va": va}
            label = panel.annotate(plain(text, 40), point, offset, **options)
            box = label.get_window_extent()
            if panel.bbox.x0 < box.x0 and box.x1 < panel.bbox.x1 and not box.count_overlaps(taken):
                taken.append(box)
                break
            label.remove()
    return save_figure(figure, path)
