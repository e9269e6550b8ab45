"""JSON files, written atomically and read with errors that name the file and the value."""

import json
import os
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, Self

from keras_bert.files.given import check_no_pointer
from keras_bert.files.remote import read_bytes
from keras_bert.files.whole import whole_file

LARGEST = 2**31 - 1
"""Largest size that a tensor's axis or an id may have."""


def read_json(path: str | os.PathLike, kind: type = dict) -> dict | list:
    """Reads the object (`dict`) or list of a JSON file; an empty one if there is no such file.

    Anything else is a ValueError.
    """
    try:
        data = read_bytes(path)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return kind()
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        check_no_pointer(path, data)
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
        self.path = path
        self.place = place
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
        def is_right(value):  # NaN is within no limits
            return low <= value <= high and value == int(value) and not isinstance(value, bool)

        expected = f"an integer from {low} to {high:,}"
        value = self._checked(key, default, (int, float), expected, is_right)
        return value if value is default else int(value)

    def number(
        self, key: str, default: float | None = None, low: float = -1e30, high: float = 1e30
    ) -> float | None:
        def is_right(value):
            return low <= value <= high and not isinstance(value, bool)

        expected = f"a number from {low} to {high}"
        return self._checked(key, default, (int, float), expected, is_right)

    def boolean(self, key: str, default: bool | None = None) -> bool | None:
        """Returns a bool; 0 and 1 are accepted."""
        value = self._checked(key, default, int, "true or false", lambda value: value in (0, 1))
        return value if value is default else bool(value)

    def text(self, key: str, default: str | None = None) -> str | None:
        return self._checked(key, default, str, "a string")

    def one_of(self, key: str, choices: Iterable[Any], default: Any = None) -> Any:
        value = self.value(key, default)
        if value not in list(choices):
            raise self.error(key, f"one of {', '.join(map(repr, choices))}", value)
        return value

    def texts(self, key: str) -> list[str]:
        return self._list(key, str, "strings")

    def fields(self, key: str) -> Self:
        """Returns an inner object; an empty one if it is missing."""
        value = self._checked(key, {}, dict, "an object")
        return type(self)(self.path, value, self._name(key))

    def listed_fields(self, key: str) -> Iterator[Self]:
        """Yields the objects of a list."""
        for index, value in enumerate(self._list(key, dict, "objects")):
            yield type(self)(self.path, value, f"{self._name(key)}[{index}]")

    def inner_path(self, key: str) -> str:
        """Returns a relative path that stays within the folder that it is relative to."""
        value = self.text(key, "")
        folders = value.replace("\\", "/").split("/")
        if os.path.isabs(value) or ".." in folders or "\0" in value:
            raise self.error(key, "a path within the folder", value)
        return value

    def error(self, key: str, expected: str, value: Any) -> ValueError:
        """Makes an error that names the file, the key, what was expected and what came."""
        return ValueError(
            f"{self.path}: {self._name(key)} must be {expected}; got {reprlib.repr(value)}."
        )

    def _checked(self, key, default, kind, expected, is_right=lambda value: True):
        value = self.value(key, default)
        if value is not default and not (isinstance(value, kind) and is_right(value)):
            raise self.error(key, expected, value)
        return value

    def _list(self, key, kind, nouns):
        def is_right(values):
            return all(isinstance(value, kind) for value in values)

        return self._checked(key, [], list, f"a list of {nouns}", is_right)

    def _name(self, key):
        return f"{self.place}.{key}" if self.place else key
