"""The one door for data: looks once at what a user gives to a verb."""

from typing import Any

import keras

from keras_bert.data.data import (
    Data,
    InputArrays,
    InputBatches,
    InputDataset,
    RawExamples,
)
from keras_bert.data.prepared_inputs import extra_shapes
from keras_bert.data.raw_stream import RawStream
from keras_bert.data.translators import (
    are_rows,
    as_rows,
    first_element,
    has_own_batches,
    has_rows,
    in_python,
    with_first,
)
from keras_bert.messages import shown
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import ExampleList, is_dataset, is_frame, is_raw


def data_of(
    task: keras.Model,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    with_labels: bool = True,
) -> Data:
    """Returns the `Data` of what a user gave to a verb of a task.

    Args:
        task: a `BertTask`.
        x: raw examples or prepared inputs, in any form.
        y: labels, unless `x` contains them.
        sample_weight: weights, unless `x` contains them.
        with_labels: bool, whether a stream of raw examples yields labels, too.
    """
    _check_labels_apart(x, y)
    extra_names = extra_shapes(task)
    x, *columns = in_python((x, y, sample_weight))
    x = as_rows(x, extra_names)
    y, sample_weight = map(_listed_column, columns)
    is_stream = False
    if is_iterable(x) or are_rows(x):
        x, first = with_first(x)
        is_stream = is_raw(first)
    elif has_own_batches(x):
        is_stream = is_raw(first_element(x))
    given = (task, x, y, sample_weight)
    if is_stream:
        are_labelled = with_labels and y is None and not task.takes_columns
        are_rows_in_memory = has_rows(x)
        if are_rows_in_memory:
            given = (task, iter(x), y, sample_weight)
        stream = RawStream(*given, with_labels=are_labelled)
        is_apart = y is not None or sample_weight is not None
        return stream.in_memory() if are_rows_in_memory or is_apart else stream
    if is_dataset(x):
        return InputDataset(*given)
    if is_raw(x):
        return RawExamples(*given)
    columns = x if task.takes_columns and isinstance(x, tuple) else [x]
    if columns and all(isinstance(column, dict) for column in columns):
        return InputArrays(*given)
    return InputBatches(*given)


def validation_data_of(task: keras.Model, data: Any) -> Data:
    """Returns the `Data` of the `validation_data` of `fit`, a tuple or a dataset."""
    are_columns = isinstance(data, (tuple, list)) and len(data) in (2, 3)
    if isinstance(data, tuple) and are_columns:
        return data_of(task, *data)
    if are_columns:  # Keras would take a list for a tuple
        are_columns = not isinstance(data[0], (str, bytes, tuple, dict))
    if are_columns or isinstance(data, tuple):
        raise ValueError(
            f"validation_data must be (x, y), (x, y, weights) or a dataset; got {shown(data)}."
        )
    return data_of(task, data)


def for_validation(data: Data, batching: Batching, steps: int | None) -> Any:
    """Returns data as Keras's `validation_data`, of which each epoch takes a number of steps."""
    if data.is_read_once:
        data = data.in_memory(batching.num_rows(steps))
    x, y, sample_weight = data.for_keras(batching.for_evaluation(), steps)
    return x if y is None else (x, y, sample_weight)


def _listed_column(values):
    """Returns a column of a data set, which can only be iterated over, as a list."""
    is_column = is_iterable(values) and hasattr(values, "__getitem__")
    return list(values) if is_column else values


def _check_labels_apart(x, y):
    name = getattr(y, "name", None)
    if name is not None and is_frame(x) and name in x.columns:
        others = [column for column in x.columns if column != name]
        raise ValueError(
            f"The table of texts contains the labels, {name!r}, too: pass table{others[:1]}."
        )


def is_iterable(x: Any) -> bool:
    """Returns whether examples must be iterated over: no list, array, table, dict or dataset."""
    known = (str, bytes, dict, list, tuple, set, frozenset, ExampleList)
    is_array = hasattr(x, "dtype") or hasattr(x, "dtypes")
    if isinstance(x, known) or has_own_batches(x) or is_array:
        return False
    return hasattr(x, "__iter__")
