"""Text files, read whole."""

import os

import tensorflow as tf


def read_utf8(path):
    """The text of a UTF-8 file, without its byte order mark.

    Args:
        path: anything that `tf.io.gfile` opens.

    Raises:
        ValueError: if it can't be read or is not UTF-8, with the line.
    """
    path = os.fspath(path)
    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            data = file.read()
    except tf.errors.OpError as error:
        raise ValueError(f"{path} can't be read: {error.message}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: not UTF-8 (byte 0x{data[error.start]:02x}). Save it as UTF-8."
        ) from error
