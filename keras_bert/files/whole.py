"""Atomic writes: files and folders, local and remote, are written whole or not at all.

Everything is written to a hidden temporary name next to its target and renamed at the end. The next
write of the same name removes what a killed writer left. Remote paths, such as `gs://bucket/run`,
go through `tf.io.gfile`; local paths don't need TensorFlow.
"""

import contextlib
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from keras_bert.files.remote import file_system, full_disk_named, is_remote, names_in

MARKS = ("config.json", "bert_config.json", "adapter_config.json", "saved_model.pb")
"""Files that identify a model folder; in a remote folder they are written last."""

_LEFTOVER = re.compile(r"\.(unfinished|old)-[0-9a-f]{8}-(.+)", re.DOTALL)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike, mode: str = "w") -> Iterator[IO]:
    """Opens a file for writing; it appears only if the block ends without an error.

    After an error, an existing file is unchanged and no partial file remains. If two processes
    write a file at the same time, one of them fails with an `OSError`. Missing parent folders are
    created. `mode` is `"w"` for UTF-8 text with line endings as written, or `"wb"` for bytes.

    Example:
    >>> folder = tempfile.mkdtemp()
    >>> with whole_file(f"{folder}/notes.txt") as file:
    ...     print("one line", file=file)
    >>> os.listdir(folder)
    ['notes.txt']
    """
    text = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    with whole_path(path) as temporary:
        if not is_remote(path):
            with open(temporary, mode, **text) as file:
                yield file
            return
        with tempfile.TemporaryDirectory() as here:
            with open(f"{here}/file", mode, **text) as file:
                yield file
            with file_system(path) as files:
                files.copy(f"{here}/file", temporary)


@contextlib.contextmanager
def whole_path(path: str | os.PathLike) -> Iterator[str]:
    """Provides a temporary name; the file is renamed if the block ends without an error.

    For writers that take a path, such as `tf.io.TFRecordWriter` and `model.save`. The temporary
    name keeps the suffix; the block must write the file and close it.
    """
    path = _absolute(path)
    temporary = temporary_name(path)
    if not is_remote(path):  # elsewhere leftovers stay: Beam may write a shard twice at once
        remove_unfinished(*os.path.split(path))
    with file_system(path) as files:
        files.makedirs(os.path.dirname(path))
    try:
        with full_disk_named(path):
            yield temporary
            if not is_remote(path):
                with open(temporary, "rb+") as file:
                    os.fsync(file.fileno())
            with file_system(path) as files:
                files.rename(temporary, path, overwrite=True)
    finally:
        remove(temporary)


@contextlib.contextmanager
def whole_folder(
    path: str | os.PathLike, check: Callable[[list[str]], None] | None = None
) -> Iterator[Path]:
    """Provides an empty folder; it replaces `path` if the block ends without an error.

    After an error, an existing folder is unchanged and no partial folder remains. If two processes
    write a folder at the same time, one of them fails with an `OSError`. A local folder is replaced
    by two renames: after a kill between them, `recover` or the next write restores the old one. A
    remote folder is written locally, copied next to its target, and moved there file by file, with
    its mark (`MARKS`) last; a kill during these moves loses the old folder, and the new one has no
    mark.

    `check` raises a `ValueError` if a folder must not be replaced. It is called with the names in
    an existing folder, before the block and again before the folder is replaced.
    """
    path = _absolute(path)
    if not is_remote(path):
        recover(path)
    _check_may_be_replaced(path, check)
    remove_unfinished(*os.path.split(path))
    if is_remote(path):
        with tempfile.TemporaryDirectory() as here, full_disk_named(path):
            yield Path(here)
            _upload(Path(here), path, check)
        return
    temporary = temporary_name(path)
    old = temporary_name(path, "old")
    new = os.path.join(temporary, os.path.basename(path))
    mark = os.path.join(temporary, ".mark")
    os.makedirs(new)
    os.mkdir(mark)  # gone if another writer removed all of it, even if this one makes `new` again
    try:
        with full_disk_named(path):
            yield Path(new)
        _check_may_be_replaced(path, check)  # another process may have written it just now
        os.stat(mark)
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, old)
        os.rename(new, path)
        with contextlib.suppress(OSError):  # removed below; `recover` never sees a part of it
            os.rename(old, new)
    except Exception as error:
        if os.path.exists(mark):
            raise
        raise OSError(
            f"{path} was not written: another process wrote it at the same time ({error}). Write "
            "it again, or to another folder."
        ) from error
    finally:
        remove(temporary)
        recover(path)


def temporary_name(path: str | os.PathLike, kind: str = "unfinished") -> str:
    """Returns a hidden name next to `path`, new at every call, with the same suffix."""
    folder, name = os.path.split(str(path))
    return os.path.join(folder, f".{kind}-{uuid.uuid4().hex[:8]}-{name}")


def remove_unfinished(folder: str | os.PathLike, name: str | None = None) -> None:
    """Removes what killed writers left in a folder under temporary names, of `name` or of all.

    The folder may be missing. A process that still writes one of them fails with an `OSError`.
    """
    for leftover in names_in(folder):
        match = _LEFTOVER.fullmatch(leftover)
        if not match or name not in (None, match[2]):
            continue
        kind, target = match.groups()
        if kind == "old" and target not in names_in(folder):  # listed after the earlier one
            continue
        path = os.path.join(str(folder), leftover)
        if is_remote(path):
            remove(path)
            continue
        gone = temporary_name(os.path.join(folder, target))
        with contextlib.suppress(OSError):  # all of it at once: its writer may still run
            os.rename(path, gone)
            remove(gone)


def recover(path: str | os.PathLike) -> None:
    """Restores a local folder whose writer was killed between the renames of `whole_folder`."""
    if os.path.lexists(path):
        return
    parent, name = os.path.split(os.path.abspath(path))
    for other in names_in(parent):
        match = _LEFTOVER.fullmatch(other)
        if match and match.groups() == ("old", name):
            with contextlib.suppress(OSError):  # another reader was faster
                os.rename(os.path.join(parent, other), path)


def remove(path: str | os.PathLike) -> None:
    """Removes a file or folder if it exists and can be removed."""
    with contextlib.suppress(OSError), file_system(path) as files:
        if files.isdir(path) and not os.path.islink(path):
            files.rmtree(path)
        else:
            files.remove(path)


def _absolute(path):
    """Returns a path as a str that stays valid when the working directory changes.

    A symbolic link is kept; its target is replaced.
    """
    return str(path).rstrip("/") if is_remote(path) else os.path.realpath(path)


def _check_may_be_replaced(path, check):
    if is_remote(path) and "/" not in path.partition("://")[2]:
        raise ValueError(f"{path} is the root of a file system. Give a folder within it.")
    with file_system(path) as files:
        exists = files.exists(path)
        is_folder = files.isdir(path)
    if exists and not is_folder:
        raise ValueError(f"{path} is a file. Choose another name for the folder.")
    with contextlib.suppress(FileNotFoundError):  # a working directory that was removed
        if os.path.ismount(path) or Path.cwd().is_relative_to(path):
            raise ValueError(
                f"{path} can't be replaced: it is a disk, or the working directory is in it. Give "
                "a folder within it."
            )
    if exists and check is not None:
        check(names_in(path))


def _upload(here, path, check):
    new = temporary_name(path)
    sources = [source for source in here.rglob("*") if source.is_file()]
    names = [source.relative_to(here).as_posix() for source in sources]
    names.sort(key=lambda name: (name in MARKS, name))
    with file_system(path) as files:
        try:
            for name in names:
                files.makedirs(os.path.dirname(f"{new}/{name}"))
                files.copy(str(here / name), f"{new}/{name}")
            _check_may_be_replaced(path, check)
            for name in names:  # unless another writer removed one
                files.stat(f"{new}/{name}")
            remove(path)
            try:
                for name in names:  # one by one: renaming a folder moves its files in any order
                    files.makedirs(os.path.dirname(f"{path}/{name}"))
                    files.rename(f"{new}/{name}", f"{path}/{name}", overwrite=True)
            except BaseException:
                remove(path)  # a partial folder is useless
                raise
        finally:
            remove(new)
