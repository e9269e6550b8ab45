"""JSON files, written atomically and read with errors that name the file."""

import json
import os
from typing import Any

from keras_bert.files.remote import read_bytes
from keras_bert.files.whole import whole_file

MAX_BYTES = 2**28
"""Size of the largest JSON file that is read; a tokenizer of 500,000 tokens has a tenth of it."""


def read_json(path: str | os.PathLike, kind: type = dict) -> dict | list:
    """Reads the object or list in a JSON file; returns an empty one if the file does not exist.

    Args:
        path: a path, local or remote.
        kind: `dict` or `list`, the type that the file should hold.

    Raises:
        ValueError: if the file is not JSON, holds anything else, is nested too deeply, or is larger
            than 256 MB.
    """
    try:
        data = read_bytes(path, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
        value = json.loads(data.decode("utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return kind()
    except RecursionError as error:
        raise ValueError(f"{path} holds lists or objects that are nested too deeply.") from error
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, kind):
        wanted = {dict: "object", list: "list"}[kind]
        raise ValueError(f"{path} must hold a JSON {wanted}; it holds a {type(value).__name__}.")
    return value


def write_json(path: str | os.PathLike, value: Any, indent: int | None = 2) -> None:
    """Writes a human-readable JSON file atomically.

    Args:
        path: a path, local or remote.
        value: the object or list.
        indent: int, spaces per level; None for a single line.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    with whole_file(path) as file:
        file.write(text + "\n")
