"""Figures of matplotlib, which is loaded at first use, and files of them."""

import io
import os
from typing import TYPE_CHECKING, Any

from keras_bert.files.whole import whole_path
from keras_bert.messages import from_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure
else:  # which only plots need
    Figure = Any


def new_figure(width: float, height: float) -> Figure:
    """Makes a figure that notebooks show, sizes in inches, without pyplot's state or windows.

    Raises:
        ImportError: if matplotlib isn't installed.
    """
    with from_extra("plots"):
        from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self):
            image = io.BytesIO()
            self.savefig(image, format="png")
            return image.getvalue()

    return NotebookFigure(figsize=(width, height), layout="tight")


def save_figure(figure: Figure, path: str | os.PathLike | None) -> Figure:
    """Writes a figure unless the path is None, and returns it. Equal figures give equal files."""
    from matplotlib import rc_context

    if path is not None:
        ending = os.path.splitext(path)[1]
        metadata = {"Date": None} if ending == ".svg" else None
        with whole_path(path) as unfinished, rc_context({"svg.hashsalt": "keras_bert"}):
            figure.savefig(unfinished, format=ending.removeprefix("."), metadata=metadata)
    return figure
