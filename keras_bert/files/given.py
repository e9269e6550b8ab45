"""Files and folders that others made: regular files of one version of a folder, and no others."""

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar
from zipfile import ZipFile

_POINTER = b"version https://git-lfs"
Load = TypeVar("Load", bound=Callable)


def open_regular(path: str | os.PathLike, mode: str) -> IO[Any]:
    """Opens a file as `open` does, but no pipe, which may wait forever, and no device."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise ValueError(f"{path} is a pipe or a device. Write what it gives to a file.")
    return open(path, mode)


def file_in(folder: str | os.PathLike, name: str) -> Path:
    """Returns the path of a file in a folder, for libraries that open files themselves.

    A link that leads out of the folder is refused: what it leads to may be private, and would be
    saved with the model. In the cache of the Hugging Face hub, files are links to `blobs`.
    """
    path = Path(folder, name)
    real = path.resolve()
    is_inside = real.is_relative_to(Path(folder).resolve()) or real.parent.name == "blobs"
    if not is_inside or real.exists() and not real.is_file():
        raise ValueError(
            f"{path} must be a file, and no link out of its folder. If you trust what it leads to, "
            "put a copy in its place."
        )
    if real.exists():
        with open(real, "rb") as file:
            check_no_pointer(path, file.read(len(_POINTER)))
    return path


def check_no_pointer(path: str | os.PathLike, start: bytes) -> None:
    """Raises a ValueError if a file begins as what a clone without Git LFS has in its place."""
    if start.startswith(_POINTER):
        raise ValueError(f"{path} is a pointer of Git LFS: run git lfs pull in its folder.")


def check_stored(archive: ZipFile) -> None:
    """Raises a ValueError if a zip file is compressed, or names more than it holds."""
    parts = archive.infolist()
    if any(p.compress_type for p in parts) or sum(p.file_size for p in parts) > archive.start_dir:
        raise ValueError("it is compressed, or names more than it holds")


def of_one_version(load: Load) -> Load:
    """Decorates `load(folder)`: a folder that is replaced meanwhile is loaded again."""

    @functools.wraps(load)
    def load_whole(folder):
        for _ in range(20):
            before = _version(folder)
            try:
                loaded = load(folder)
            except Exception:
                if _version(folder) == before:
                    raise
            else:
                if _version(folder) == before:
                    return loaded
        raise OSError(f"{folder} is replaced faster than it can be read. Load it again later.")

    return load_whole


def _version(folder):
    with contextlib.suppress(OSError):
        state = os.stat(folder)
        return state.st_ino, state.st_mtime_ns
