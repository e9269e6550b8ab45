"""Conversion of answers to Python values."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf


def answer_dicts(answers: Mapping[str, tf.Tensor | tf.RaggedTensor]) -> list[dict]:
    """Splits a dict of tensors into one dict per example.

    Args:
        answers: a dict of tensors `[B, ...]`, dense or ragged.

    Returns:
        A list of B dicts with the same keys. Strings become str or lists of str, single numbers
        int, float or bool, and several numbers an array.
    """
    columns = {name: _rows(values) for name, values in answers.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _rows(values):
    if isinstance(values, tf.RaggedTensor):
        splits = values.row_splits.numpy()
        flat = _rows(values.values)
        if values.values.dtype != tf.string:
            flat = values.values.numpy()
        return [flat[start:end] for start, end in zip(splits, splits[1:], strict=False)]
    values = np.asarray(values)
    if values.dtype.kind in "OSU":
        return [_text(row) for row in values]
    return values.tolist() if values.ndim == 1 else list(values)


def _text(row):
    if isinstance(row, np.ndarray):
        return [_text(value) for value in row]
    if isinstance(row, bytes):
        try:
            return row.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return row.decode("utf-8", "replace")
    return str(row)
