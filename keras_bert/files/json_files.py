"""JSON files, written atomically and read with errors that name the file and the value."""

import json
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
    """Reads the object (`dict`) or list of a JSON file; an empty one if there is no such file.

    Anything else, too deep nesting and more than 256 MB are ValueErrors.
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
    """Writes a JSON file atomically; with `indent=None`, on a single line."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    with whole_file(path) as file:
        file.write(text + "\n")


class JsonFields:
    """A JSON object whose values are checked when they are read.

    For a missing value and for `null`, each method returns its default. Messages name the `path` of
    the file and the `place` of the object in it. By default, `values` are those of the file.

    Example:
    >>> JsonFields("config.json", {"layers": "two"}).integer("layers")
    Traceback (most recent call last):
    ValueError: config.json: layers must be an integer from 0 to 2,147,483,647; got 'two'.
    """

    def __init__(self, path: str | os.PathLike, values: dict | None = None, place: str = ""):
        self.path, self.place = path, place
        self.values = read_json(path) if values is None else values

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def __bool__(self) -> bool:
        return bool(self.values)

    def value(self, key: str, default: Any = None) -> Any:
        value = self.values.get(key)
        return default if value is None else value

    def integer(
        self, key: str, default: int | None = None, low: int = 0, high: int = LARGEST
    ) -> int | None:
        def is_integer(value):
            return _is_number(value) and low <= value <= high and value == int(value)

        value = self._suitable(key, default, f"an integer from {low} to {high:,}", is_integer)
        return None if value is None else int(value)

    def number(
        self, key: str, default: float | None = None, low: float = -1e30, high: float = 1e30
    ) -> float | None:
        def is_within(value):
            return _is_number(value) and low <= value <= high  # never NaN

        return self._suitable(key, default, f"a number from {low} to {high}", is_within)

    def boolean(self, key: str, default: bool | None = None) -> bool | None:
        """Returns a bool; 0 and 1 are accepted."""
        value = self._suitable(
            key, default, "true or false", lambda v: isinstance(v, int) and v in (0, 1)
        )
        return None if value is None else bool(value)

    def text(self, key: str, default: str | None = None) -> str | None:
        return self._suitable(key, default, "a string", lambda value: isinstance(value, str))

    def texts(self, key: str) -> list[str]:
        return self._list(key, str, "strings")

    def fields(self, key: str) -> Self:
        """Returns an inner object; an empty one if it is missing."""
        value = self._suitable(key, {}, "an object", lambda value: isinstance(value, dict))
        return type(self)(self.path, value, self._name(key))

    def listed_fields(self, key: str) -> Iterator[Self]:
        """Yields the objects of a list."""
        for number, value in enumerate(self._list(key, dict, "objects")):
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

    def _suitable(self, key, default, expected, is_right):
        value = self.value(key, default)
        if value is not default and not is_right(value):
            raise self.error(key, expected, value)
        return value

    def _list(self, key, kind, nouns):
        def is_right(value):
            return isinstance(value, list) and all(isinstance(each, kind) for each in value)

        return self._suitable(key, [], f"a list of {nouns}", is_right)

    def _name(self, key):
        key = key if len(key) < 80 else f"{key[:80]}..."
        return f"{self.place}.{key}" if self.place else key


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)
