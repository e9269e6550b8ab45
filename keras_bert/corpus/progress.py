"""Progress bars in terminals, logs and notebooks."""

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tqdm


def progress_bar(name: str, num_bytes: int, progress: bool) -> "tqdm.tqdm":
    """Makes a bar of bytes: a widget in a notebook with ipywidgets, otherwise text.

    Args:
        name: str, shown before the bar.
        num_bytes: int, the bytes to read.
        progress: bool, whether the bar is shown.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "IProgress not found": the bar is text then
        from tqdm.auto import tqdm

    # Each update is a line of a log, and of a notebook that a program runs.
    interval = 0.1 if sys.stderr.isatty() else 1.0
    return tqdm(
        total=num_bytes,
        unit="B",
        unit_scale=True,
        desc=name,
        disable=not progress,
        mininterval=interval,
    )
