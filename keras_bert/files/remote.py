"""Files and folders, local or on TensorFlow's file systems, such as `gs://bucket/run`."""

import codecs
import contextlib
import errno
import glob
import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from keras_bert.files.given import open_regular


def _walk(folder):
    """Like `os.walk`, through links too, each folder once and without what is hidden."""
    seen = {str(parent) for parent in Path(folder).resolve().parents}  # links to them are circles
    for top, folders, names in os.walk(folder, followlinks=True):
        here = os.path.realpath(top)
        if here in seen:
            folders.clear()
            continue
        seen.add(here)
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield top, folders, [name for name in names if name[0] != "."]


_LOCAL = SimpleNamespace(
    GFile=open_regular,
    exists=os.path.exists,
    glob=partial(glob.glob, recursive=True),
    isdir=os.path.isdir,
    listdir=os.listdir,
    makedirs=partial(os.makedirs, exist_ok=True),
    remove=os.remove,
    rename=lambda source, target, overwrite: os.replace(source, target),
    rmtree=shutil.rmtree,
    stat=os.stat,
    walk=_walk,
)
_PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_DATA_SET = re.compile(r"hf://(?:datasets/)?([\w.-]+/[\w.-]+)(?:@(refs/\w+/\w+|[^/]+))?(?:/(.+))?")
_LOST_SLASH = re.compile(r"[a-z][a-z0-9+.-]+:/(?!/)", re.IGNORECASE)  # of Path("gs://b"): "gs:/b"


def is_remote(path: str | os.PathLike) -> bool:
    """Returns whether a path has a scheme and therefore needs `tf.io.gfile`."""
    path = str(path)
    if _LOST_SLASH.match(path):
        raise ValueError(
            f"The path {path} has a scheme and one slash: a pathlib.Path drops the other. Pass "
            "remote paths as str."
        )
    return "://" in path


@contextlib.contextmanager
def file_system(path: str | os.PathLike) -> Iterator[Any]:
    """Provides the functions of `tf.io.gfile` for a path; local ones don't need TensorFlow.

    TensorFlow's errors become `OSError`s that name `path`, with `errno` if it is known. Keep only
    file operations in the block: every TensorFlow error is treated as a file error.
    """
    if not is_remote(path):
        yield _LOCAL
        return
    import tensorflow as tf

    try:
        yield tf.io.gfile
    except tf.errors.ResourceExhaustedError as error:
        raise _disk_full(path, error.message) from error
    except tf.errors.NotFoundError as error:
        reason = error.message or os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, reason, str(path)) from error
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {type(error).__name__} {error.message}") from error


def _disk_full(path, reason):
    """Makes the error for a full disk while a file or folder was written."""
    return OSError(
        errno.ENOSPC,
        f"The disk was full while {path} was written; no part of it was left. Free some space and "
        f"try again. ({reason})",
    )


@contextlib.contextmanager
def full_disk_named(path: str | os.PathLike) -> Iterator[None]:
    """Turns the errors of a full disk, of whatever library writes, into one `OSError`."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise _disk_full(path, error.__cause__ or error) from error


def is_disk_full(error: BaseException) -> bool:
    """Returns whether any library's error says that a disk or a quota is full.

    HDF5, safetensors and TensorFlow raise errors of their own that only mention it.
    """
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if isinstance(error, OSError) and error.errno in full:
        return True
    return any(os.strerror(number) in str(error) for number in full)


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Opens a file, local or remote, for reading; a file that can't be read is an `OSError`."""
    with file_system(path) as files, files.GFile(os.fspath(path), "rb") as file:
        yield file


def packing(path: str | os.PathLike) -> str:
    """Returns the suffix of a compressed file, ".gz", ".bz2" or ".zst"; "" for other files."""
    suffix = os.path.splitext(str(path))[1].lower()
    return suffix if suffix in _PACKINGS else ""


@contextlib.contextmanager
def open_unpacked(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Opens a file for reading; one that is compressed is decompressed."""
    if not packing(path):
        with open_bytes(path) as file:
            yield file
        return
    with arrow_file(path) as (arrow, file):
        yield arrow.input_stream(file, compression=_PACKINGS[packing(path)])


@contextlib.contextmanager
def arrow_file(path: str | os.PathLike) -> Iterator[tuple[Any, IO[bytes]]]:
    """Provides `pyarrow`, and a file for it; its errors become ValueErrors that name the file."""
    try:
        import pyarrow
    except ImportError as error:
        hint = 'pip install "keras3-bert[corpus]", or ".[corpus]" in a clone'
        raise ImportError(f"{path} needs the package pyarrow: {hint}.") from error
    with open_bytes(path) as file:
        if not hasattr(file, "closed"):
            file.closed = False  # which TensorFlow's files lack
        try:
            yield pyarrow, file
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{path} is damaged, or of another kind: {error}. Download the file again."
            ) from error


def read_bytes(path: str | os.PathLike, size: int = -1) -> bytes:
    """Returns the first `size` bytes of a file, local or remote; by default, all."""
    with open_bytes(path) as file:
        return file.read(size)


def read_text(path: str | os.PathLike, encoding: str = "utf-8") -> str:
    """Reads a file of text, perhaps compressed, without its byte order mark.

    One of UTF-16 is followed.
    """
    data = bytearray()
    try:
        with open_unpacked(path) as file:
            while block := file.read(2**24):  # which `read` allocates before it reads
                data += block
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror or error}") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    advice = 'Save it as UTF-8, or give its encoding to the reader, such as encoding="cp1252".'
    return decoded(data, path, encoding, advice).removeprefix("\ufeff")


def decoded(
    data: bytes | bytearray,
    source: str,
    encoding: str = "utf-8",
    advice: str = "Save it as UTF-8.",
) -> str:
    """Decodes the bytes of a file; the error for other encodings names the `source` and line."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = encoding.upper()
        raise ValueError(
            f"{source}, line {line}: not {name} (byte 0x{data[error.start]:02x}). {advice}"
        ) from error
    except LookupError as error:
        raise ValueError(f"encoding must be one that Python knows; got {encoding!r}.") from error


def local_path(path: str | os.PathLike) -> Path:
    """Returns the `Path` of a folder for a fine-tuned model; a ValueError if it is remote."""
    if is_remote(path):
        raise ValueError(
            f"The folder of a fine-tuned model must be on this machine; got {path}. Give a path "
            "without a scheme, then copy the folder."
        )
    return Path(path)


def names_in(folder: str | os.PathLike) -> list[str]:
    """Lists the files and folders in a folder; the list is empty if there is no such folder."""
    with file_system(folder) as files:
        names = files.listdir(folder) if files.isdir(folder) else []
    return sorted(name.rstrip("/") for name in names)


def size_and_time(path: str | os.PathLike) -> tuple[int, int] | None:
    """Returns a file's bytes and when it was changed, in nanoseconds; None if it is missing."""
    with file_system(path) as files:
        if not files.exists(path):
            return None
        state = files.stat(path)
    if is_remote(path):
        return state.length, state.mtime_nsec
    return state.st_size, state.st_mtime_ns


def files_at(path: str) -> list[str]:
    """Lists a file, the files below a folder, or those that match a pattern, sorted.

    Hidden files below a folder are left out.

    Files of data sets on the Hugging Face Hub, `hf://datasets/user/name@revision/pattern`, are
    downloaded to the cache of huggingface_hub, where a download resumes. Without a connection,
    they are those that the cache holds.
    """
    local = path
    if match := _DATA_SET.fullmatch(path):
        from huggingface_hub import snapshot_download

        name, revision, pattern = match.groups()
        # To the Hub, "**/" is at least one folder; `glob` then chooses.
        patterns = pattern and [pattern, f"{pattern}/*", pattern.replace("**/", "")]
        folder = snapshot_download(
            name, repo_type="dataset", revision=revision, allow_patterns=patterns
        )
        local = os.path.join(folder, pattern or "")
    with file_system(local) as files:
        matches = [local] if files.exists(local) else files.glob(local)
        if not matches:
            raise ValueError(f"The input file {path} does not exist. Check the path.")
        paths = set()
        for match in matches:
            if not files.isdir(match):
                paths.add(match)
                continue
            for top, _, names in files.walk(match):
                paths.update(os.path.join(top, name) for name in names)
        return sorted(paths)
