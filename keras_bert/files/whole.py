"""Atomic writes: files and folders, local and remote, are written whole or not at all.

Everything is written to a hidden temporary name next to its target and renamed at the end. Remote
paths, such as `gs://bucket/run`, go through `tf.io.gfile`; local paths don't need TensorFlow.
"""

import contextlib
import ctypes
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from keras_bert.files.leftovers import (
    complete,
    install,
    recover,
    remove,
    remove_unfinished,
    temporary_name,
)
from keras_bert.files.remote import as_os_errors, is_remote, names_in

MARKS = ("config.json", "bert_config.json", "saved_model.pb")
"""Files that identify a model folder; in a remote folder they are written last."""

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


@contextlib.contextmanager
def whole_file(path: str | os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Opens a file for writing; it appears only if the block ends without an error.

    After an error, an existing file is unchanged and no partial file remains.

    Args:
        path: a path, local or remote; missing parent folders are created.
        mode: `"w"` for UTF-8 text with line endings as written, `"wb"` for bytes.

    Yields:
        A file object. Remote files can't seek.

    Raises:
        OSError: if the file can't be written.

    Example:
    >>> folder = tempfile.mkdtemp()
    >>> with whole_file(f"{folder}/notes.txt") as file:
    ...     print("one line", file=file)
    >>> os.listdir(folder)
    ['notes.txt']
    """
    if mode not in ("w", "wb"):
        raise ValueError(f'mode must be "w" or "wb"; got {mode!r}.')
    text = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    with whole_path(path) as temporary:
        if not is_remote(temporary):
            with open(temporary, mode, **text) as file:
                yield file
            return
        stream = _RemoteStream(temporary, path)
        with io.TextIOWrapper(io.BufferedWriter(stream), **text) if text else stream as file:
            yield file


@contextlib.contextmanager
def whole_path(path: str | os.PathLike) -> Iterator[str]:
    """Provides a temporary name; the file is renamed if the block ends without an error.

    Use it with writers that take a path, such as `tf.io.TFRecordWriter` and `model.save`;
    otherwise use `whole_file`. The temporary name keeps the suffix.

    Args:
        path: a path, local or remote; missing parent folders are created.

    Yields:
        The temporary name, as a str. The block must write the file and close it.

    Raises:
        OSError: if the file can't be written.
    """
    path = _absolute(path)
    if not is_remote(path):
        remove_unfinished(*os.path.split(path))
    temporary = temporary_name(path)
    with _parents(path):
        try:
            yield temporary
            _rename_file(temporary, path)
        finally:
            remove(temporary)


@contextlib.contextmanager
def whole_folder(
    path: str | os.PathLike, check: Callable[[list[str]], None] | None = None
) -> Iterator[Path]:
    """Provides an empty folder; it replaces `path` if the block ends without an error.

    After an error, an existing folder is unchanged and no partial folder remains. After a kill, the
    old or the new folder is there: Linux exchanges the two in one step. On file systems that can't,
    `recover` restores the old one. A remote folder is written locally, copied next to its target,
    and renamed file by file, with its mark (`MARKS`) last. After a kill during these renames,
    `recover` or the next write finishes them; only an error loses the old folder. Leftovers of
    killed writers of the same folder are removed. If several processes write it at once, the last
    one's folder stays.

    Args:
        path: a path, local or remote; missing parent folders are created.
        check: called with the names in an existing folder, before the block and again before the
            folder is replaced; raises a `ValueError` if it must not be replaced. By default any
            folder is replaced.

    Yields:
        The `Path` of a local folder.

    Raises:
        ValueError: if `path` is a file or the root of a bucket, or if `check` refuses it.
        OSError: if the folder can't be written.

    Example:
    >>> folder = tempfile.mkdtemp()
    >>> with whole_folder(f"{folder}/model") as new:
    ...     _ = (new / "config.json").write_text("{}")
    >>> os.listdir(f"{folder}/model")
    ['config.json']
    """
    path = _absolute(path)
    recover(path)
    _check_may_be_replaced(path, check)
    remove_unfinished(*os.path.split(path))
    if is_remote(path):
        with tempfile.TemporaryDirectory() as here:
            yield Path(here)
            with as_os_errors(path):
                _upload(Path(here), path, check)
        return
    new = Path(temporary_name(path))
    with _parents(path):
        new.mkdir()
        try:
            yield new
            _replace_folder(Path(path), new, check)
        finally:
            shutil.rmtree(new, ignore_errors=True)


class _RemoteStream(io.RawIOBase):
    """A remote file that is written from beginning to end, without seeking."""

    def __init__(self, temporary, path):
        super().__init__()
        import tensorflow as tf

        self._path = path
        self._file = tf.io.gfile.GFile(temporary, "wb")
        self.write(b"")  # creates the file, even if it stays empty

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        with as_os_errors(self._path):
            self._file.write(data)
        return len(data)

    def close(self):
        if not self.closed:
            super().close()
            with as_os_errors(self._path):
                self._file.close()


def _absolute(path):
    """Returns a path as a str that stays valid when the working directory changes."""
    if is_remote(path):
        return str(path).rstrip("/")
    # A symbolic link is kept; its target is replaced.
    return os.path.realpath(path) if os.path.islink(path) else str(Path(path).absolute())


@contextlib.contextmanager
def _parents(path):
    """Creates the parent folders of `path`; after an error, removes the new ones if empty."""
    parent = os.path.dirname(path)
    if is_remote(path):
        import tensorflow as tf

        with as_os_errors(path):
            tf.io.gfile.makedirs(parent)
        yield
        return
    made = [folder for folder in (Path(parent), *Path(parent).parents) if not folder.exists()]
    try:
        os.makedirs(parent, exist_ok=True)
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise


def _rename_file(temporary, path):
    if is_remote(path):
        import tensorflow as tf

        with as_os_errors(path):
            tf.io.gfile.rename(temporary, path, overwrite=True)
        return
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _check_may_be_replaced(path, check):
    if is_remote(path):
        import tensorflow as tf

        if "/" not in path.partition("://")[2]:
            raise ValueError(
                f"{path} is the root of a file system. Give the path of a folder within it."
            )
        with as_os_errors(path):
            exists, is_folder = tf.io.gfile.exists(path), tf.io.gfile.isdir(path)
    else:
        exists, is_folder = os.path.lexists(path), os.path.isdir(path)
    if exists and not is_folder:
        raise ValueError(f"{path} is a file. Choose another name for the folder.")
    if exists and check is not None:
        check(names_in(path))


def _upload(here, path, check):
    """Copies a local folder next to a remote one, then quickly replaces the remote one."""
    import tensorflow as tf

    gfile, new = tf.io.gfile, temporary_name(path)
    files = [
        file.relative_to(here).as_posix() for file in sorted(here.rglob("*")) if file.is_file()
    ]
    files.sort(key=lambda file: file in MARKS)
    try:
        for file in files:
            gfile.makedirs(os.path.dirname(f"{new}/{file}"))
            gfile.copy(str(here / file), f"{new}/{file}")
        _check_may_be_replaced(path, check)
        complete(new, files)
        try:
            install(new, path)
        except BaseException:
            remove(path)  # a partial folder is useless
            raise
    finally:
        remove(new)


def _replace_folder(folder, new, check):
    """Replaces `folder` by `new`, in one step if the file system can; removes the old folder."""
    try:
        new.rename(folder)  # fails if there is a folder with files
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES):
            raise
    _check_may_be_replaced(str(folder), check)  # another process may have written it just now
    if _exchange(folder, new):
        shutil.rmtree(new)
        return
    old = Path(temporary_name(folder, "old"))
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old)


def _exchange(one, other):
    """Exchanges the names of two local folders in one step; returns whether the system can."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old C library
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0
