"""UTF-8 text files."""

import codecs
import os

from keras_bert.files.remote import read_bytes


def read_utf8(path: str | os.PathLike) -> str:
    """Reads the text of a UTF-8 file, local or remote, without its byte order mark."""
    path = os.fspath(path)
    try:
        data = read_bytes(path)
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
