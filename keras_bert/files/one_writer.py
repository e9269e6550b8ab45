"""Detection of two processes that write to the same output folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from keras_bert.files.leftovers import live_writers, remove, remove_unfinished, temporary_name
from keras_bert.files.remote import is_remote

_NAME = "run"


@contextmanager
def one_writer(folder: str | os.PathLike) -> Iterator[None]:
    """Marks a folder as written by this process until the block ends.

    The mark of a killed process is ignored and removed. Processes on other machines, and remote
    folders, are not detected.

    Args:
        folder: a path; the folder is created.

    Raises:
        ValueError: if another process on this machine writes to the folder.
    """
    if is_remote(folder):
        yield
        return
    os.makedirs(folder, exist_ok=True)
    remove_unfinished(folder, _NAME)
    mark = temporary_name(os.path.join(folder, _NAME))
    with open(mark, "xb"):
        pass
    try:
        others = live_writers(folder, _NAME) - {os.getpid()}
        if others:
            raise ValueError(
                f"Another process of this machine, {min(others)}, writes to {folder}. Wait until "
                "it ends, or give this run a folder of its own."
            )
        yield
    finally:
        remove(mark)
