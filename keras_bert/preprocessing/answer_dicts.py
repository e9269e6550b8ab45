"""Answers as Python values."""

import numpy as np
import tensorflow as tf


def answer_dicts(answers) -> list[dict]:
    """Turns a dict of tensors into a dict for each example.

    Args:
        answers: a dict of tensors `[B, ...]`, ragged ones too.

    Returns:
        A list of B dicts with the same keys: strings as str, or lists of str; single numbers as
        int, float or bool; more numbers as arrays.
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
