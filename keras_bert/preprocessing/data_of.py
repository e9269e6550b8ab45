"""The one door for data: looks once at what a user gives to a verb."""

from typing import Any

import keras

from keras_bert.messages import shown
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.data import (
    Data,
    InputArrays,
    InputBatches,
    InputDataset,
    RawDataset,
    RawExamples,
)
from keras_bert.preprocessing.forms import is_dataset, is_frame, is_iterable, is_raw
from keras_bert.preprocessing.iterables import RawPasses, are_rows, in_python, with_first


def data_of(
    task: keras.Model,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    with_labels: bool = True,
    most: int | None = None,
) -> Data:
    """Returns the `Data` of what a user gave to a verb of a task.

    Args:
        task: a `BertTask`.
        x: raw examples or prepared inputs, in any form.
        y: labels, unless `x` contains them.
        sample_weight: weights, unless `x` contains them.
        with_labels: bool, whether an iterable of raw examples yields labels, too.
        most: int, the most examples to read from an iterable.
    """
    _check_labels_apart(x, y)
    x = in_python(x)
    are_passes = False
    if is_iterable(x) or are_rows(x):
        x, first = with_first(x)
        are_passes = is_raw(first)
    given = (task, x, _listed_column(y), _listed_column(sample_weight))
    if is_dataset(x):
        return RawDataset(*given) if is_raw(x) else InputDataset(*given)
    if are_passes:
        are_labelled = with_labels and y is None and not task.takes_columns
        return RawPasses(*given, with_labels=are_labelled, most=most)
    if is_raw(x):
        return RawExamples(*given)
    columns = x if task.takes_columns and isinstance(x, tuple) else [x]
    if columns and all(isinstance(column, dict) for column in columns):
        return InputArrays(*given)
    return InputBatches(*given)


def validation_data_of(task: keras.Model, data: Any, most: int | None = None) -> Data:
    """Returns the `Data` of the `validation_data` of `fit`, a tuple or a dataset."""
    are_columns = isinstance(data, (tuple, list)) and len(data) in (2, 3)
    if isinstance(data, tuple) and are_columns:
        return data_of(task, *data, most=most)
    if are_columns:  # Keras would take a list for a tuple
        are_columns = not isinstance(data[0], (str, bytes, tuple, dict))
    if are_columns or isinstance(data, tuple):
        raise ValueError(
            f"validation_data must be (x, y), (x, y, weights) or a dataset; got {shown(data)}."
        )
    return data_of(task, data, most=most)


def for_validation(data: Data, batching: Batching) -> Any:
    """Returns data as Keras's `validation_data`."""
    x, y, sample_weight = data.for_keras(batching.for_evaluation())
    return x if y is None else (x, y, sample_weight)


def _listed_column(values):
    """Returns a column of a data set, which can only be iterated over, as a list."""
    values = in_python(values)
    is_column = is_iterable(values) and hasattr(values, "__getitem__")
    return list(values) if is_column else values


def _check_labels_apart(x, y):
    name = getattr(y, "name", None)
    if name is not None and is_frame(x) and name in x.columns:
        others = [column for column in x.columns if column != name]
        raise ValueError(
            f"The table of texts contains the labels, {name!r}, too: pass table{others[:1]}."
        )
