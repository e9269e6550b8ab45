"""Labels and weights beside examples: a value for each."""

from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing.checked_numbers import is_column, weight_arrays
from keras_bert.preprocessing.forms import one_each
from keras_bert.preprocessing.labels import class_numbers
from keras_bert.preprocessing.text_rows import ops_of


def example_weights(
    task: keras.Model, y: Any, sample_weight: Any, rows: int | None = None
) -> np.ndarray | None:
    """Returns the weights of examples as floats, after a check of labels and weights."""
    check_columns(task, rows, y=y, sample_weight=sample_weight)
    task.check_labels(y)
    if sample_weight is None or isinstance(sample_weight, dict) or not has_one_each(task):
        return weight_arrays(sample_weight)
    return one_each(weight_arrays(sample_weight, is_column))


def has_one_each(task: keras.Model) -> bool:
    """Returns whether a task has one row of outputs an example, without an axis of tokens."""
    return len(getattr(task.output, "shape", ())) == 2


def check_columns(task: keras.Model, rows: int | None = None, **columns: Any) -> None:
    """Raises a ValueError unless labels or weights have a value for each of some examples."""
    for name, values in columns.items():
        is_dict = isinstance(values, dict) and isinstance(task.output, dict)
        for column in values.values() if is_dict else [values]:
            if column is None:
                continue
            if not _is_column(column):
                raise ValueError(f"{name} must have a value for each example; got {shown(column)}.")
            if rows is not None:
                check_one_each(rows, "rows", **{"labels or weights": column})


def check_has_labels(task: keras.Model, has_labels: bool) -> None:
    """Raises a ValueError if examples have labels and the task takes none, or the reverse."""
    if task.loss is None or has_labels == task.takes_labels:
        return
    if task.takes_labels:
        raise ValueError(
            'There are no labels: pass y, as in fit(df["text"], df["label"]), or a dataset of '
            "(text, label). A file is read first, as with pandas.read_csv."
        )
    raise ValueError(f"{type(task).__name__} learns from texts alone: leave the labels out.")


def check_structure(task: keras.Model, y: Any) -> None:
    """Raises a ValueError unless labels are a dict if the outputs are one."""
    if y is not None and isinstance(task.output, dict) and not isinstance(y, dict):
        names = ", ".join(task.output)
        raise ValueError(f"{type(task).__name__} takes a dict of labels: {names}; got {shown(y)}.")


def _is_column(values):
    """Returns whether values can be read one by one: a list, an array or a table's column."""
    if isinstance(values, (str, bytes, dict)) or getattr(values, "shape", None) == ():
        return False
    return hasattr(values, "__len__") and hasattr(values, "__getitem__")


def weighted_by_class(batches: Any, class_weight: dict[int, float]) -> Any:
    """Returns batches whose weights are multiplied by those of their classes.

    Labels, arrays or tensors, are class numbers, perhaps in a column, or one-hot: both have one
    more axis than the weights.
    """
    by_class = np.array([*class_weight.values()], "float32")  # [C]

    def weighted(x, labels, weights=None):
        ops = ops_of(labels)
        is_deep = weights is None or len(labels.shape) > len(weights.shape)
        of_class = ops.take(by_class, class_numbers(labels) if is_deep else labels)
        return x, labels, of_class if weights is None else ops.cast(weights, "float32") * of_class

    return batches.map(weighted)
