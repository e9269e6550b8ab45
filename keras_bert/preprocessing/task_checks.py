"""Checks of examples against a task: its labels, weights and extra inputs."""

from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing.checked_numbers import extra_input_array, is_column, weight_arrays
from keras_bert.preprocessing.forms import as_arrays, one_each


def preprocessor_of(task: keras.Model) -> Any:
    """Returns the task's preprocessor, which raw examples need."""
    if task.preprocessor is None:
        raise ValueError(
            f"Text needs a preprocessor: {type(task).__name__}(..., "
            f"preprocessor={task.preprocessor_class().__name__}(tokenizer))."
        )
    return task.preprocessor


def no_inputs(task: keras.Model, x: Any) -> ValueError:
    """Makes the error for data that a task doesn't take."""
    return ValueError(
        f"{type(task).__name__} takes raw examples, or {', '.join(task.input)} in a dict, or "
        f"batches of either; got {shown(x)}."
    )


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


def check_dataset_labels(task: keras.Model, dataset: Any) -> None:
    """Checks the structure and the shape of the labels of a `tf.data.Dataset` of batches."""
    _, y, _ = keras.utils.unpack_x_y_sample_weight(dataset.element_spec)
    check_structure(task, y)
    if not hasattr(y, "shape"):
        return
    shape = y.shape[1:]
    if shape.is_fully_defined():
        task.check_labels(np.zeros((1, *shape)))


def has_one_each(task: keras.Model) -> bool:
    """Returns whether a task has one row of outputs an example, without an axis of tokens."""
    return len(getattr(task.output, "shape", ())) == 2


def example_weights(
    task: keras.Model, y: Any, sample_weight: Any, rows: int | None = None
) -> np.ndarray | None:
    """Returns the weights of examples as floats, after a check of labels and weights."""
    check_columns(task, rows, y=y, sample_weight=sample_weight)
    task.check_labels(y)
    if sample_weight is None or isinstance(sample_weight, dict) or not has_one_each(task):
        return weight_arrays(sample_weight)
    return one_each(weight_arrays(sample_weight, is_column))


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


def _is_column(values):
    """Returns whether values can be read one by one: a list, an array or a table's column."""
    if isinstance(values, (str, bytes, dict)) or getattr(values, "shape", None) == ():
        return False
    return hasattr(values, "__len__") and hasattr(values, "__getitem__")


def with_extra_arrays(task: keras.Model, x: Any) -> Any:
    """Returns prepared inputs with the task's extra inputs, such as features, as float32.

    Raises:
        ValueError: if an extra input is missing, has the wrong shape, or is not finite.
    """
    names = extra_shapes(task)
    if names and isinstance(x, dict):
        x = as_arrays(x)
        for name in names.keys() & x.keys():
            x[name] = extra_input_array(name, x[name])
    check_extra_inputs(task, x)
    return x


def extra_shapes(task: keras.Model) -> dict[str, tuple]:
    """Returns the shapes of what a task takes alongside text, such as features, without `B`."""
    names = task.input.keys() - task.backbone.input.keys() - {"segment_ids"}
    return {name: tuple(task.input[name].shape[1:]) for name in sorted(names)}


def check_extra_inputs(task: keras.Model, x: Any, may_be_one: bool = False) -> None:
    """Raises a ValueError unless examples, or their specs, have the task's extra inputs.

    With `may_be_one`, `x` may also be those of a single example.
    """
    shapes = extra_shapes(task)
    forms = []
    wrong = []
    for name, shape in shapes.items():
        sizes = ", ".join(map(str, ("n", *shape)))
        forms.append(f"'{name}': [{sizes}] numbers")
        if not isinstance(x, dict) or name not in x:
            wrong.append(f"no {name}")
            continue
        given = tuple(x[name].shape)
        is_shape = given[1:] == shape or (may_be_one and given == shape)
        if not is_shape and None not in (*shape, *given[1:]):
            wrong.append(f"{name} of shape {given}")
    if wrong:
        raise ValueError(
            f"This {type(task).__name__} takes {' and '.join(shapes)} alongside text: give "
            f"{{'text': texts, {', '.join(forms)}}}; got {' and '.join(wrong)}."
        )
