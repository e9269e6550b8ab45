"""Figures of matplotlib, which is loaded at first use, and files of them."""

import os
from typing import TYPE_CHECKING

from keras_bert.files.whole import whole_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> "Figure":
    """Makes a figure, sizes in inches, without pyplot's state or windows.

    Raises:
        ImportError: if matplotlib isn't installed.
    """
    try:
        from matplotlib import figure
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'keras3-bert[plots]'.") from error
    return figure.Figure(figsize=(width, height))


def save_figure(figure: "Figure", path: str | os.PathLike) -> None:
    """Writes a figure; its ending gives the format. Equal figures give equal files."""
    from matplotlib import rc_context

    figure.tight_layout()
    ending = os.path.splitext(path)[1]
    metadata = {"Date": None} if ending == ".svg" else None
    with whole_path(path) as unfinished, rc_context({"svg.hashsalt": "keras_bert"}):
        figure.savefig(unfinished, format=ending.removeprefix("."), metadata=metadata)
