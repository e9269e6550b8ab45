"""Files and folders: local, on TensorFlow's file systems (`gs://bucket/run`), or on a hub.

Data sets of the Hugging Face Hub, `hf://datasets/user/name@revision/file`, can only be read. Each
file that is opened is first downloaded to the cache of huggingface_hub, where downloads resume.
"""

import bz2
import codecs
import contextlib
import errno
import functools
import glob
import gzip
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

_LOCAL = SimpleNamespace(
    GFile=open,
    exists=os.path.exists,
    glob=partial(glob.glob, recursive=True),
    isdir=os.path.isdir,
    listdir=os.listdir,
    makedirs=partial(os.makedirs, exist_ok=True),
    remove=os.remove,
    rename=lambda source, target, overwrite: os.replace(source, target),
    rmtree=shutil.rmtree,
    stat=os.stat,
    walk=os.walk,
)
PACKINGS = {".gz": 3, ".bz2": 4, ".zst": 3}
"""Suffixes of compressed files, and about how many bytes of text a byte of theirs holds."""

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
    if str(path).startswith("hf://"):
        yield _hub()
        return
    import tensorflow as tf

    try:
        yield tf.io.gfile
    except tf.errors.ResourceExhaustedError as error:
        raise disk_full(path, error.message) from error
    except tf.errors.NotFoundError as error:
        reason = error.message or os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, reason, str(path)) from error
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {type(error).__name__} {error.message}") from error


@functools.cache
def _hub():
    """Makes the functions that read a hub, like those of `tf.io.gfile`; errors are `OSError`s."""
    from huggingface_hub import HfFileSystem, hf_hub_download

    files = HfFileSystem()

    def asked(function):
        def ask(path, *arguments):
            try:
                return function(str(path), *arguments)
            except OSError:
                raise
            except Exception as error:  # of the hub's client for HTTP
                raise OSError(f"{path} can't be read: {type(error).__name__} {error}") from error

        return ask

    def exists(path):
        with contextlib.suppress(FileNotFoundError):
            return bool(files.info(path))
        return False

    def matching(pattern):
        with contextlib.suppress(FileNotFoundError):
            return [f"hf://{name}" for name in files.glob(pattern)]
        return []

    def stat(path):
        info = files.info(path)
        return SimpleNamespace(length=info["size"], mtime_nsec=info.get("blob_id"))

    def open_cached(path, mode):
        file, size = files.resolve_path(path), files.info(path)["size"]
        options = {"repo_type": file.repo_type, "revision": file.revision}
        local = hf_hub_download(file.repo_id, file.path_in_repo, **options)
        if os.path.getsize(local) != size:
            files.invalidate_cache()
            raise OSError(f"{path} has changed on the hub. Rerun the same call.")
        return open(local, mode)

    def refuse(path, *_, **__):
        raise OSError(f"{path} can't be written: files of a hub are only read. Give a folder.")

    def walk(folder):
        return [(f"hf://{parent}", *names) for parent, *names in files.walk(folder)]

    return SimpleNamespace(
        GFile=asked(open_cached),
        exists=asked(exists),
        glob=asked(matching),
        isdir=asked(lambda path: exists(path) and files.info(path)["type"] == "directory"),
        listdir=asked(lambda path: [os.path.basename(name) for name in files.ls(path, False)]),
        makedirs=refuse,
        stat=asked(stat),
        walk=asked(walk),
    )


def disk_full(path: str | os.PathLike, reason: object) -> OSError:
    """Makes the error for a full disk while a file or folder was written."""
    return OSError(
        errno.ENOSPC,
        f"The disk was full while {path} was written; no part of it was left. Free some space and "
        f"try again. ({reason})",
    )


@contextlib.contextmanager
def full_disk_named(path: str | os.PathLike) -> Iterator[None]:
    """Turns the errors of a full disk, of whatever library writes, into `disk_full`."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise disk_full(path, error.__cause__ or error) from error


def is_disk_full(error: BaseException) -> bool:
    """Returns whether any library's error says that a disk or a quota is full.

    HDF5, safetensors and TensorFlow raise errors of their own that only mention the number.
    """
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if getattr(error, "errno", None) in full:
        return True
    numbers = "|".join(map(str, full))
    texts = "|".join(re.escape(os.strerror(number)) for number in full)
    said = rf"(errno = |os error |Errno )({numbers})\b|{texts}"
    return re.search(said, str(error)) is not None


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Opens a file, local or remote, for reading; a file that can't be read is an `OSError`."""
    with file_system(path) as files, files.GFile(os.fspath(path), "rb") as file:
        yield file


def packing(path: str | os.PathLike) -> str:
    """Returns the suffix of a compressed file, ".gz", ".bz2" or ".zst"; "" for other files."""
    suffix = os.path.splitext(str(path))[1].lower()
    return suffix if suffix in PACKINGS else ""


@contextlib.contextmanager
def open_unpacked(path: str | os.PathLike, begin: int = 0) -> Iterator[IO[bytes]]:
    """Opens a file at a byte, for reading; one that is compressed is decompressed."""
    with open_bytes(path) as file:
        kind = packing(path)
        if not kind:
            file.seek(begin)
            yield file
            return
        try:
            unpacked = {".gz": _gunzipped, ".bz2": bz2.open, ".zst": _unzstandard}[kind](file)
            unpacked.read(begin)
            yield unpacked
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(
                f"{path} is damaged, or no {kind} file: {error}. Download the file again."
            ) from error


def _gunzipped(file):
    return gzip.GzipFile(fileobj=file)


def _unzstandard(file):
    pyarrow = import_pyarrow()
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), "zstd")


def import_pyarrow() -> Any:
    """Imports `pyarrow`, which reads Parquet and Zstandard; an ImportError if it is missing."""
    try:
        import pyarrow
    except ImportError as error:
        message = 'This needs the package pyarrow: pip install "keras3-bert[corpus]".'
        raise ImportError(message) from error
    return pyarrow


def read_bytes(path: str | os.PathLike, size: int = -1) -> bytes:
    """Returns the first `size` bytes of a file, local or remote; by default, all."""
    with open_bytes(path) as file:
        return file.read(size)


def read_utf8(path: str | os.PathLike) -> str:
    """Reads the text of a UTF-8 file, perhaps compressed, without its byte order mark."""
    path = os.fspath(path)
    try:
        with open_unpacked(path) as file:
            data = file.read()
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror or error}") from error
    return decode_utf8(data.removeprefix(codecs.BOM_UTF8), path)


def decode_utf8(data: bytes, source: str) -> str:
    """Decodes the bytes of a file; the error for other encodings names the `source` and line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{source}, line {line}: not UTF-8 (byte 0x{data[error.start]:02x}). Save it as UTF-8."
        ) from error


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


def is_folder(path: str | os.PathLike) -> bool:
    """Returns whether a path, local or remote, is a folder."""
    with file_system(path) as files:
        return files.isdir(path)


def size_and_time(path: str | os.PathLike) -> tuple[int, int] | None:
    """Returns a file's bytes and when it was changed, in nanoseconds; None if it is missing."""
    with file_system(path) as files:
        if not files.exists(path):
            return None
        found = files.stat(path)
    if is_remote(path):
        return found.length, found.mtime_nsec
    return found.st_size, found.st_mtime_ns


def files_at(path: str) -> list[str]:
    """Lists a file, all files below a folder, or those that match a pattern, sorted."""
    with file_system(path) as files:
        found = [path] if files.exists(path) else files.glob(path)
    lists = [files_below(each) if is_folder(each) else [each] for each in found]
    return sorted({name for names in lists for name in names})


def files_below(folder: str | os.PathLike) -> list[str]:
    """Lists the paths of all files in a folder and its subfolders, sorted."""
    with file_system(folder) as files:
        found = [*files.walk(folder)]
    return sorted(os.path.join(parent, name) for parent, _, names in found for name in names)
