"""JSON files, written atomically and read with errors that name the file and the value."""

import json
import math
import os
import reprlib
from collections.abc import Iterator
from typing import Any, Self

from keras_bert.files.remote import read_bytes
from keras_bert.files.whole import whole_file

MAX_BYTES = 2**28
"""Size of the largest JSON file that is read; a tokenizer of 500,000 tokens has a tenth of it."""
LARGEST = 2**31 - 1
"""Largest size that a tensor's axis or an id may have."""


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


class JsonFields:
    """A JSON object whose values are checked when they are read.

    A missing value and `null` are the same: each method then returns its default.

    Args:
        path: the file, for messages.
        values: the object; by default, the file is read.
        place: the keys that lead to the object in the file, for messages.

    Example:
    >>> fields = JsonFields("config.json", {"hidden_size": 8, "layers": "two"})
    >>> fields.integer("hidden_size", 768, low=1)
    8
    >>> fields.integer("layers")
    Traceback (most recent call last):
    ValueError: config.json: layers must be an integer of at least 0; got 'two'.
    """

    def __init__(self, path: str | os.PathLike, values: dict | None = None, place: str = ""):
        self.path, self.place = path, place
        self.values = read_json(path) if values is None else values

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def __bool__(self) -> bool:
        return bool(self.values)

    def __repr__(self):
        return f"JsonFields({str(self.path)!r}, {reprlib.repr(self.values)})"

    def value(self, key: str, default: Any = None) -> Any:
        """Returns a value of any type."""
        value = self.values.get(key)
        return default if value is None else value

    def integer(
        self, key: str, default: int | None = None, low: int = 0, high: int = LARGEST
    ) -> int | None:
        """Returns an integer from `low` to `high`."""
        value = self.value(key, default)
        if value is default:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, f"an integer of at least {low}", value)
        if not low <= value <= high:
            raise self.error(key, f"from {low} to {high:,}", value)
        return value

    def number(
        self, key: str, default: float | None = None, low: float = -1e30, high: float = 1e30
    ) -> float | None:
        """Returns a finite number from `low` to `high`."""
        value = self.value(key, default)
        if value is default:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, "a number", value)
        if not low <= value <= high or (isinstance(value, float) and not math.isfinite(value)):
            raise self.error(key, f"a number from {low} to {high}", value)
        return value

    def boolean(self, key: str, default: bool | None = None) -> bool | None:
        """Returns a bool; 0 and 1 are accepted."""
        value = self.value(key, default)
        if value is default:
            return default
        if not isinstance(value, (bool, int)) or value not in (0, 1):
            raise self.error(key, "true or false", value)
        return bool(value)

    def text(self, key: str, default: str | None = None) -> str | None:
        """Returns a string."""
        value = self.value(key, default)
        if value is not default and not isinstance(value, str):
            raise self.error(key, "a string", value)
        return value

    def texts(self, key: str) -> list[str]:
        """Returns a list of strings."""
        values = self.value(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.error(key, "a list of strings", values)
        return values

    def fields(self, key: str) -> Self:
        """Returns an inner object; an empty one if it is missing."""
        value = self.value(key, {})
        if not isinstance(value, dict):
            raise self.error(key, "an object", value)
        return type(self)(self.path, value, self._name(key))

    def listed_fields(self, key: str) -> Iterator[Self]:
        """Yields the objects of a list."""
        values = self.value(key, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self.error(key, "a list of objects", values)
        for number, value in enumerate(values):
            yield type(self)(self.path, value, f"{self._name(key)}[{number}]")

    def inner_path(self, key: str) -> str:
        """Returns a relative path that stays within the folder that it is relative to."""
        value = self.text(key, "")
        if os.path.isabs(value) or ".." in value.replace("\\", "/").split("/") or "\0" in value:
            raise self.error(key, "a path within the folder", value)
        return value

    def error(self, key: str, expected: str, value: Any) -> ValueError:
        """Makes an error that names the file, the key, what was expected and what came."""
        return ValueError(
            f"{self.path}: {self._name(key)} must be {expected}; got {reprlib.repr(value)}."
        )

    def _name(self, key):
        key = key if len(key) < 80 else f"{key[:80]}..."
        return f"{self.place}.{key}" if self.place else key
