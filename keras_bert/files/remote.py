"""Paths that TensorFlow's file systems reach, such as `gs://bucket/run`."""

import contextlib
import errno
import os
import re
from collections.abc import Iterator

_LOST_SLASH = re.compile(r"[a-z][a-z0-9+.-]+:/(?!/)", re.IGNORECASE)  # of Path("gs://b"): "gs:/b"


def is_remote(path: str | os.PathLike) -> bool:
    """Returns whether a path has a scheme, and so belongs to `tf.io.gfile`.

    Raises:
        ValueError: if the path is a `Path` made from a remote one, which has lost a slash.
    """
    path = str(path)
    if _LOST_SLASH.match(path):
        raise ValueError(
            f"The path {path} has a scheme and one slash: a pathlib.Path drops the other. Pass "
            "remote paths as str."
        )
    return "://" in path


@contextlib.contextmanager
def as_os_errors(path: str | os.PathLike) -> Iterator[None]:
    """Turns TensorFlow's errors into `OSError`s that name `path`, with `errno` where it is known.

    Keep only file operations in the block: every error of TensorFlow's is taken for one of them.
    """
    import tensorflow as tf

    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        raise OSError(
            errno.ENOSPC,
            f"The disk was full while {path} was written; nothing half-written was left. Free "
            f"some space and run the same command again. ({error.message})",
        ) from error
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, f"{path}: {error.message}") from error
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {type(error).__name__} {error.message}") from error


def read_bytes(path: str | os.PathLike) -> bytes:
    """Returns the content of a file, local or remote.

    Raises:
        OSError: if it can't be read.
    """
    if not is_remote(path):
        with open(path, "rb") as file:
            return file.read()
    import tensorflow as tf

    with as_os_errors(path), tf.io.gfile.GFile(str(path), "rb") as file:
        return file.read()


def names_in(folder: str | os.PathLike) -> list[str]:
    """Returns the names of the files and folders in a folder; none if there is no such folder."""
    if not is_remote(folder):
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    import tensorflow as tf

    folder = str(folder)
    with as_os_errors(folder):
        names = tf.io.gfile.listdir(folder) if tf.io.gfile.isdir(folder) else []
    return sorted(name.rstrip("/") for name in names)
