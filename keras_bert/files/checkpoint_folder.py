"""Checkpoint folders, local and remote, whose files are either complete or absent."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from keras_bert.files.leftovers import remove_unfinished
from keras_bert.files.remote import as_os_errors, names_in
from keras_bert.files.whole import whole_file

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a Path of "gs://b" is "gs:/b"


def checkpoint_folder(path: str | os.PathLike) -> "LocalFolder | RemoteFolder":
    """Returns the folder at `path`, which may not exist yet.

    Args:
        path: a local path, or one with a scheme that `tf.io.gfile` knows, such as
            `"gs://bucket/run"`.

    Returns:
        A `LocalFolder` or a `RemoteFolder`: both have the same methods, and raise `OSError`s.
    """
    return RemoteFolder(path) if "://" in str(path) else LocalFolder(path)


def local_folder(path: str | os.PathLike) -> Path:
    """Creates a local folder if it is missing, and returns its `Path`; see `local_path`."""
    path = local_path(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def local_path(path: str | os.PathLike) -> Path:
    """Returns the `Path` of a local folder, which may not exist yet.

    Raises:
        ValueError: if the path is remote; it would become a folder named `gs:`.
    """
    if _REMOTE.match(str(path)):
        raise ValueError(
            "The folder must be on this machine, because a fine-tuned model and its results are "
            f"written there; got {path}. Give a path without a scheme, then copy the folder."
        )
    return Path(path)


class _Folder:
    """Base class of local and remote folders."""

    def __repr__(self):
        return f"{type(self).__name__}({str(self.path)!r})"

    def names(self) -> list[str]:
        """Returns the names of the files."""
        return names_in(self.path)

    def new(self, name: str) -> contextlib.AbstractContextManager[IO]:
        """Opens a file for writing bytes; it appears only if the block ends without an error."""
        remove_unfinished(self.path)
        return whole_file(self.file(name), "wb")


class LocalFolder(_Folder):
    """Folder on this machine, used without TensorFlow."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)

    def file(self, name: str) -> str:
        """Returns the path of a file."""
        return str(self.path / name)

    def open(self, name: str) -> IO:
        """Opens a file for reading bytes."""
        return open(self.path / name, "rb")

    def remove(self, name: str) -> None:
        """Removes a file."""
        os.remove(self.path / name)


class RemoteFolder(_Folder):
    """Folder accessed through TensorFlow, for example in a bucket."""

    def __init__(self, path: str | os.PathLike):
        import tensorflow as tf

        self.path = str(path).rstrip("/")
        self._gfile = tf.io.gfile

    def file(self, name: str) -> str:
        """Returns the path of a file."""
        return f"{self.path}/{name}"

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO]:
        """Opens a file for reading bytes."""
        path = self.file(name)
        with as_os_errors(path), self._gfile.GFile(path, "rb") as file:
            yield file

    def remove(self, name: str) -> None:
        """Removes a file."""
        path = self.file(name)
        with as_os_errors(path):
            self._gfile.remove(path)
