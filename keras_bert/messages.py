"""Checks, messages and the log that every room shares: what came, and what it must be."""

import contextlib
import logging
import math
import numbers
import os
import reprlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np

logger = logging.getLogger("keras_bert")

NO_EXAMPLES = "There are no examples: the dataset is empty."


def check_int(name: str, value: Any, at_least: int = 1, at_most: int = 2**31 - 1) -> None:
    """Raises a ValueError unless an argument is an integer from `at_least` to `at_most`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer; got {reprlib.repr(value)}.")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}; got {value}.")
    if value > at_most:
        raise ValueError(f"{name} must be at most {at_most}; got {value}.")


def plain_int(value: Any) -> Any:
    """Converts an integer of NumPy to an int, which Keras and JSON need; returns others as is."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    return value


def check_number(
    name: str,
    value: Any,
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> None:
    """Raises a ValueError unless an argument is a finite number within its limits."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < at_least or value <= above:
        limit = ""
        if at_least > -math.inf:
            limit = f" of at least {at_least}"
        if above > -math.inf:
            limit = f" above {above}"
        raise ValueError(f"{name} must be a finite number{limit}; got {reprlib.repr(value)}.")
    if value >= below:
        raise ValueError(f"{name} must be below {below}; got {value}.")


def check_rate(name: str, value: Any) -> None:
    """Raises a ValueError unless an argument is a probability."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is a probability, 0 to 1; got {value}.")


def check_path(name: str, value: Any) -> None:
    """Raises a ValueError unless an argument is a path."""
    if not isinstance(value, (str, os.PathLike)) or "\0" in str(value):
        raise ValueError(f"{name} must be a path, a str or a Path; got {reprlib.repr(value)}.")


def check_one_of(name: str, value: Any, choices: Iterable[Any], hint: str = "") -> None:
    """Raises a ValueError unless an argument is one of its choices.

    >>> check_one_of("pooling", "max", ("cls", "mean"))
    Traceback (most recent call last):
    ValueError: pooling must be one of 'cls', 'mean'; got 'max'.
    """
    choices = tuple(choices)
    is_plain = value is None or isinstance(value, (str, numbers.Number))  # no array or tensor
    if not is_plain or value not in choices:
        hint = hint or did_you_mean(value, choices)
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}.{hint}"
        )


def did_you_mean(value: Any, choices: Iterable[Any], cutoff: float = 0.6) -> str:
    """Returns a hint that names the string nearest to a value, in any case; "" if none is near."""
    folded = {choice.lower(): choice for choice in choices if isinstance(choice, str)}
    for near in get_close_matches(str(value).lower(), folded, 1, cutoff):
        return f" Did you mean {folded[near]!r}?"
    return ""


def check_one_each(number: int, noun: str, **columns: Any) -> None:
    """Raises a ValueError unless each column has an item for each of `number` examples.

    >>> check_one_each(3, "texts", labels=[0, 1])
    Traceback (most recent call last):
    ValueError: There are 3 texts but 2 labels: give one for each.
    """
    for name, values in columns.items():
        is_single = isinstance(values, str) or getattr(values, "shape", None) == ()
        count = f"a single value as {name}" if is_single else f"{len(values)} {name}"
        if is_single or len(values) != number:
            raise ValueError(f"There are {number} {noun} but {count}: give one for each.")


def check_values(array: np.ndarray, are_right: np.ndarray, expected: str, fix: str = "") -> None:
    """Raises a ValueError, which names the first wrong value and its place, unless all are right.

    >>> labels = np.array([0, 3])
    >>> check_values(labels, labels < 3, "Labels must be below 3", "Number them from 0.")
    Traceback (most recent call last):
    ValueError: Labels must be below 3; got 3 at [1]. Number them from 0.
    """
    if not np.all(are_right):
        place = np.argwhere(~are_right)[0].tolist()
        raise ValueError(f"{expected}; got {array[tuple(place)]} at {place}. {fix}".rstrip())


def check_all_finite(name: str, array: np.ndarray, fix: str) -> None:
    """Raises a ValueError, which says where, if an array holds NaN or infinity."""
    check_values(array, np.isfinite(array), f"{name} must be finite numbers", fix)


def is_missing(value: Any) -> bool:
    """Returns whether a value is None, NaN or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def shown(value: object, limit: int = 80) -> str:
    """Returns a value's `repr`, shortened to `limit` characters."""
    return shortened(repr(value), limit)


def shortened(text: str, limit: int = 80) -> str:
    """Shortens a text to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def missing(package: str, extra: str) -> ImportError:
    """Makes the error for an optional package that isn't installed."""
    return ImportError(
        f'This needs the package {package}: pip install "keras3-bert[{extra}]", or ".[{extra}]" in '
        "a clone."
    )


@contextlib.contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Turns the error of the block's imports into one that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:  # not of a package that is there, but broken
        if error.name is None:
            raise
        raise missing(error.name.split(".")[0], extra) from error
