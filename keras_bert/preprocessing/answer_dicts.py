"""Conversion of answers to Python values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

_NOT_UTF8 = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")  # bytes of `surrogateescape`


def answer_dicts(answers: Mapping[str, Any]) -> list[dict]:
    """Splits a dict of arrays into one dict per example.

    Args:
        answers: a dict of arrays `[B, ...]`, or of lists of B arrays that differ in length.

    Returns:
        A list of B dicts with the same keys. Strings become str or lists of str, single numbers
        int, float or bool, and several numbers an array.
    """
    columns = {name: [*map(_plain, _rows(values))] for name, values in answers.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _rows(values):
    if isinstance(values, list):
        return values
    values = np.asarray(values)  # a task of the user's own may return tensors
    return values.tolist() if values.ndim == 1 and values.dtype != object else values


def _plain(value):
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        return [*map(_plain, value)]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return str(value) if value.isascii() else value.translate(_NOT_UTF8)
    return value.item() if isinstance(value, np.generic) else value
