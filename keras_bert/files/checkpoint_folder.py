"""A folder of files that are whole or not there, on this machine or in a bucket."""

import contextlib
import io
import os
import re
from pathlib import Path

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a Path of "gs://b" is "gs:/b"


def checkpoint_folder(path):
    """The folder at `path`, which may not be there yet.

    Args:
        path: of this machine, or with a scheme that `tf.io.gfile` knows, such as
            `"gs://bucket/run"`.

    Returns:
        A `LocalFolder` or a `RemoteFolder`: both have the same methods, and raise `OSError`s.
    """
    return RemoteFolder(path) if "://" in str(path) else LocalFolder(path)


def local_folder(path):
    """The `Path` of a folder of this machine, which is made if it isn't there.

    Raises:
        ValueError: if the path is one of a bucket, which would become a folder named `gs:`.
    """
    if _REMOTE.match(str(path)):
        raise ValueError(
            "The folder must be on this machine, as a fine-tuned model and what stands beside it "
            f"are written there; got {path}. Give a path without a scheme, and copy the folder."
        )
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


class LocalFolder:
    """Files of this machine; it needs no TensorFlow."""

    def __init__(self, path):
        self.path = Path(path)

    def file(self, name):
        """The path of a file, as a str."""
        return str(self.path / name)

    def names(self):
        """The names of the files."""
        return os.listdir(self.path) if self.path.is_dir() else []

    def open(self, name):
        """A file to read bytes from."""
        return open(self.path / name, "rb")

    @contextlib.contextmanager
    def new(self, name):
        """A file to write bytes to, which gets its name if the block ends without an error."""
        unfinished = self.path / f".{name}.unfinished"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with open(unfinished, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, self.path / name)
        finally:
            unfinished.unlink(missing_ok=True)

    def remove(self, name):
        """Removes a file."""
        (self.path / name).unlink()


class RemoteFolder:
    """Files that TensorFlow reaches: those of a bucket, for instance."""

    def __init__(self, path):
        import tensorflow as tf

        self.path = str(path).rstrip("/")
        self._gfile, self._error = tf.io.gfile, tf.errors.OpError

    def file(self, name):
        """The path of a file, as a str."""
        return f"{self.path}/{name}"

    def names(self):
        """The names of the files."""
        with self._as_os_errors(self.path):
            return self._gfile.listdir(self.path) if self._gfile.isdir(self.path) else []

    @contextlib.contextmanager
    def open(self, name):
        """A file to read bytes from."""
        path = self.file(name)
        with self._as_os_errors(path), self._gfile.GFile(path, "rb") as file:
            yield file

    @contextlib.contextmanager
    def new(self, name):
        """A file to write bytes to, which gets its name if the block ends without an error."""
        path, unfinished = self.file(name), self.file(f".{name}.unfinished")
        with self._as_os_errors(path):
            self._gfile.makedirs(self.path)
            try:
                with self._gfile.GFile(unfinished, "wb") as file:
                    yield _Stream(file)
                self._gfile.rename(unfinished, path, overwrite=True)
            finally:
                if self._gfile.exists(unfinished):
                    self._gfile.remove(unfinished)

    def remove(self, name):
        """Removes a file."""
        path = self.file(name)
        with self._as_os_errors(path):
            self._gfile.remove(path)

    @contextlib.contextmanager
    def _as_os_errors(self, path):
        try:
            yield
        except self._error as error:
            raise OSError(f"{path}: {type(error).__name__} {error.message}") from error


class _Stream(io.RawIOBase):
    """A GFile that is written from beginning to end; one that is told so needn't seek in it."""

    def __init__(self, file):
        super().__init__()
        self._file = file

    def writable(self):
        return True

    def write(self, data):
        self._file.write(bytes(data))
        return len(data)
