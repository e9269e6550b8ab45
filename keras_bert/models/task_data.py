"""Conversion of examples to Keras's training data: methods of `BertTask`."""

import dataclasses
import functools
import math
import types

import keras
import numpy as np

from keras_bert.messages import check_int, check_number, check_one_each, shown
from keras_bert.preprocessing.batches import Batches, prepared_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.class_labels import check_one_hot
from keras_bert.preprocessing.iterables import raw_passes, read_ahead
from keras_bert.preprocessing.prepared_inputs import input_arrays
from keras_bert.preprocessing.raw import (
    as_arrays,
    check_not_empty,
    extra_input_array,
    first_element,
    is_dataset,
    is_iterable,
    is_raw,
    is_single,
    labels_spec,
)
from keras_bert.preprocessing.sample_weights import weight_arrays


def in_memory(task, x, y=None, sample_weight=None, with_labels=True, most=None):
    """Reads an iterable of raw examples; returns anything else as it is.

    Args:
        task: a `BertTask`.
        x: examples in any form.
        y: labels or None.
        sample_weight: weights or None.
        with_labels: bool, whether an iterable yields labels, too, if `y` is None.
        most: int, the most examples to read, or None.

    Returns:
        `(x, y, sample_weight)`.
    """
    _check_labels_apart(x, y)
    y, sample_weight = (  # columns of a data set
        list(v) if is_iterable(v) and hasattr(v, "__getitem__") else v for v in (y, sample_weight)
    )
    if not is_iterable(x):
        return x, y, sample_weight
    are_labelled = with_labels and y is None and not task.takes_columns
    passes, x = raw_passes(x, with_labels=are_labelled, most=most)
    if passes is None:
        return x, y, sample_weight
    x, *own = passes.read()
    return (x, *own) if y is None and with_labels else (x, y, sample_weight)


def training_data(task, x, y, sample_weight, batching, arguments):
    """Like `in_memory`, but an iterable that yields other examples in each pass is read ahead."""
    steps, epochs = (arguments.get(name) for name in ("steps_per_epoch", "epochs"))
    most = None if steps is None else steps * batching.batch_size
    if y is None and is_iterable(x):
        passes, x = raw_passes(x, with_labels=not task.takes_columns, most=most)
        number = (epochs or 1) - arguments.get("initial_epoch", 0)
        if passes is not None and passes.are_several and number > 1:
            return (
                read_ahead(passes, functools.partial(_labelled_batches, task), batching, number),
                None,
                None,
            )
    return in_memory(task, x, y, sample_weight, most=most)


def batches(task, x, y=None, sample_weight=None, *, batching=None):
    """Makes the batches that `fit` trains on; see `BertTask.batches`."""
    batching = checked_batching(batching)
    x, y, sample_weight = in_memory(task, x, y, sample_weight)
    if is_raw(x):
        return _raw_batches(task, x, y, sample_weight, batching)
    x, y, sample_weight = _checked(task, x, y, sample_weight)
    if not isinstance(x, dict) and not is_dataset(x):
        raise ValueError(f"batches takes examples in memory or a dataset; got {shown(x)}.")
    return prepared_batches(x, y, sample_weight, batching)


def keras_data(task, x, y=None, sample_weight=None, batching=None):
    """Returns `(x, y, sample_weight)` for Keras, with raw examples in batches."""
    if not is_raw(x):
        return _checked(task, _on_backend(x), y, sample_weight)
    batching = Batching().for_evaluation() if batching is None else batching
    return _on_backend(_labelled_batches(task, (x, y, sample_weight), batching)), None, None


def _labelled_batches(task, data, batching):
    """Makes batches of raw examples, with labels if the task has a loss."""
    made = _raw_batches(task, *data, batching)
    if task.loss is not None and not _has_labels(made):
        raise ValueError("There are no labels: give y, or a dataset of (text, label).")
    return made


def _on_backend(x):
    """Returns `Batches` as a dataset, which TensorFlow's strategies distribute, on TensorFlow."""
    if not isinstance(x, Batches) or keras.backend.backend() != "tensorflow":
        return x
    from keras_bert.graph.datasets import as_dataset

    return as_dataset(x)


def validation_data(task, data):
    """Converts the `validation_data` of `fit`, a tuple or a dataset, with `keras_data`."""
    if data is None:
        return None
    if isinstance(data, tuple) and len(data) not in (2, 3):
        raise ValueError(
            f"validation_data must be (x, y), (x, y, weights) or a dataset; got {shown(data)}."
        )
    data = keras_data(task, *in_memory(task, *(data if isinstance(data, tuple) else (data,))))
    return data[0] if data[1] is None else data


def merged_batching(batching, batch_size, shuffle):
    """Merges the arguments of `fit` into one `Batching`."""
    batching = checked_batching(batching, batch_size)
    shuffle = shuffle and batching.shuffle is not False and not batching.longest_first
    return dataclasses.replace(batching, shuffle=bool(shuffle))


def checked_batching(batching, batch_size=None):
    """Returns a `Batching`, by default one of `batch_size` rows."""
    if batching is None:
        return Batching(checked_batch_size(batch_size))
    if batch_size is not None or not isinstance(batching, Batching):
        raise ValueError(
            f"batching must be a Batching, in place of batch_size; got {shown(batching)} and "
            f"batch_size={batch_size}."
        )
    return batching


def check_validation_split(validation_split):
    """Raises a ValueError unless it is a share of the examples, or 0."""
    check_number("validation_split", validation_split, at_least=0)
    if validation_split >= 1:
        raise ValueError(f"validation_split must be below 1; got {validation_split}.")


def checked_batch_size(batch_size):
    """Returns the number of rows of a batch, 32 by default."""
    if batch_size is None:
        return 32
    check_int("batch_size", batch_size)
    return int(batch_size)


def checked_prepared(task, x):
    """Checks inputs that are not raw, in memory or in batches."""
    if isinstance(x, dict):
        return input_arrays(task, checked_inputs(task, x) if "token_ids" in x else x)
    if task.takes_columns and _are_columns(x):
        return tuple(checked_prepared(task, column) for column in x)
    x = checked_inputs(task, x)
    if is_dataset(x):
        from keras_bert.preprocessing.dataset_checks import with_input_checks

        check_not_empty(x)
        return with_input_checks(task, x)
    if isinstance(x, types.GeneratorType):
        return _checked_batches(task, x)
    first = first_element(x)
    if first is None:
        raise ValueError(
            f"{type(task).__name__} takes raw examples, or {', '.join(task.input)} in a dict, or "
            f"batches of either; got {shown(x)}."
        )
    _check_not_raw(x, first)
    return x


def _are_columns(x):
    """Returns whether inputs are a tuple of dicts, one for each text of an example."""
    return isinstance(x, tuple) and bool(x) and all(isinstance(column, dict) for column in x)


def preprocessor_of(task):
    """Returns the task's preprocessor, which raw examples need."""
    if task.preprocessor is None:
        raise ValueError(
            f"Text needs a preprocessor: {type(task).__name__}(..., "
            f"preprocessor={task.preprocessor_class().__name__}(tokenizer))."
        )
    return task.preprocessor


def _raw_batches(task, x, y, sample_weight, batching):
    batching.check_model(task)
    preprocessor, x = preprocessor_of(task), checked_inputs(task, x)
    if is_dataset(x):
        check_not_empty(x)
        _check_structure(task, x.element_spec)
    check_columns(task, y, sample_weight)
    task.check_labels(labels_spec(x) if is_dataset(x) else y)
    made = preprocessor.batches(x, y, sample_weight, batching=batching)
    return task.with_checked_labels(made) if is_dataset(x) and _has_labels(made) else made


def _has_labels(batches):
    """Returns whether batches have labels beside the inputs."""
    return isinstance(batches.element_spec if is_dataset(batches) else batches[0], tuple)


def _check_labels_apart(x, y):
    """Raises a ValueError if a DataFrame of texts contains the column of labels."""
    name, columns = getattr(y, "name", None), getattr(x, "columns", ())
    if name is not None and hasattr(x, "dtypes") and name in columns:
        other = next((column for column in columns if column != name), name)
        raise ValueError(
            f"The table of texts contains the labels, {name!r}, too: pass table[{other!r}]."
        )


def _checked(task, x, y, sample_weight):
    """Checks prepared inputs and converts their labels to the loss's form."""
    x = checked_prepared(task, x)
    if is_dataset(x):
        _check_structure(task, x.element_spec)
        task.check_labels(labels_spec(x))
        return task.with_checked_labels(x), y, sample_weight
    if not isinstance(x, dict) and not _are_columns(x):  # a generator or another source of batches
        _check_structure(task, first_element(x))
        return x, y, sample_weight
    _check_structure(task, (x, y))
    slots = None
    if "cls_positions" in x and len(getattr(task.output, "shape", ())) == 2:
        slots = np.shape(x["cls_positions"])
        y, sample_weight = (
            _slots_as_rows(name, values, slots)
            for name, values in (("y", y), ("sample_weight", sample_weight))
        )
    check_columns(task, y, sample_weight)
    sample_weight = weight_arrays(sample_weight)
    task.check_labels(y)
    rows = len(keras.tree.flatten(x)[0]) if slots is None else math.prod(slots)
    for values in (y, sample_weight):
        for part in values.values() if isinstance(values, dict) else [values]:
            if part is not None:
                check_one_each(rows, "rows", **{"labels or weights": part})
    y = None if y is None else task.targets(y, x)
    if slots is not None:
        y, sample_weight = (
            None if values is None else np.reshape(values, (*slots, *np.shape(values)[1:]))
            for values in (y, sample_weight)
        )
    return x, y, sample_weight


def _slots_as_rows(name, values, slots):
    """Reshapes labels or weights of packed rows, `[n, K, ...]`, to `[n x K, ...]`."""
    if values is None:
        return None
    shape = np.shape(values)
    if shape[:2] != slots:
        raise ValueError(
            f"{name} must have a value for each of cls_positions, {list(slots)}; got shape {shape}."
        )
    return np.reshape(values, (-1, *shape[2:]))


def _checked_batches(task, batches):
    """Checks the batches of a generator one after the other."""
    for batch in batches:
        parts = batch if isinstance(batch, tuple) else (batch,)
        _check_not_raw(batches, parts)
        parts = _checked(task, *(*parts, None, None)[:3])
        parts = tuple(part for part in parts if part is not None)
        yield parts if isinstance(batch, tuple) else parts[0]


def _check_not_raw(x, element):
    if is_raw(element[0] if isinstance(element, (tuple, list)) and element else element):
        raise ValueError(
            f"A {type(x).__name__} can't yield batches of raw examples: give single ones, a list, "
            "or a tf.data.Dataset."
        )


def _check_structure(task, example):
    """Raises a ValueError unless `(x, y)` of a task with several outputs has a dict of labels."""
    y = example[1] if isinstance(example, tuple) and len(example) > 1 else None
    if y is not None and isinstance(task.output, dict) and not isinstance(y, dict):
        names = ", ".join(task.output)
        raise ValueError(f"{type(task).__name__} takes a dict of labels: {names}; got {shown(y)}.")


def check_columns(task, y, sample_weight):
    """Raises a ValueError unless labels and weights have a value for each example."""
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        is_dict = isinstance(values, dict) and isinstance(task.output, dict)
        for part in values.values() if is_dict else [values]:
            if part is not None and not _is_column(part):
                raise ValueError(f"{name} must have a value for each example; got {shown(part)}.")
    has_one_each = len(getattr(task.output, "shape", ())) == 2  # and no axis of tokens
    shape = np.shape(weight_arrays(sample_weight)) if has_one_each else ()
    if shape[1:] not in ((), (1,)):
        raise ValueError(
            f"sample_weight must be [n], a number for each example; got {shown(sample_weight)}."
        )


def _is_column(values):
    """Returns whether values can be read one by one: a list, an array or a table's column."""
    if isinstance(values, (str, bytes, dict, keras.utils.PyDataset)) or is_dataset(values):
        return False
    shape = getattr(values, "shape", None)
    has_items = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return has_items and shape != () and (shape is None or 0 not in shape[1:])


def check_labels(task, y):
    """Raises a ValueError unless labels have the loss's form: class numbers, or one-hot."""
    if y is None:
        return
    if len(y) == 0:
        raise ValueError("There are no labels: y is empty.")
    shape = getattr(task.output, "shape", ())  # a token classifier's labels are lists of any length
    is_multi_label = getattr(task.preprocessor, "multi_label", False)
    if hasattr(task, "num_classes") and len(shape) == 2 and not is_multi_label:
        loss = task.loss if task.compiled else task.default_compile_args()["loss"]
        check_one_hot(y, task.num_classes, loss)


def checked_inputs(task, x):
    """Checks that raw or prepared inputs have a task's extra inputs, such as features.

    Returns:
        The same inputs, or dataset of inputs, with extra inputs of floats as float32.

    Raises:
        ValueError: if an extra input is missing, has the wrong shape, or is not finite.
    """
    own = task.backbone.input
    wanted = {name: tuple(x.shape[1:]) for name, x in task.input.items() if name not in own}
    if not wanted or getattr(x, "dtype", None) is not None:
        return x
    if is_dataset(x):
        spec = x.element_spec[0] if isinstance(x.element_spec, tuple) else x.element_spec
        _check_extra_inputs(task, spec, wanted, may_be_one=True)
        if "token_ids" not in spec:
            return x  # texts, whose extra inputs the preprocessor checks
        from keras_bert.preprocessing.dataset_checks import with_finite_check

        def checked(inputs, *rest):
            inputs = {**inputs, **with_finite_check({name: inputs[name] for name in wanted})}
            return (inputs, *rest) if rest else inputs

        return x.map(checked)
    if isinstance(x, dict):
        extra = {name: extra_input_array(name, x[name]) for name in wanted if name in x}
        x = {**as_arrays(x), **extra}
    if x is None or isinstance(x, (dict, list, tuple, str)):  # no generator or PyDataset
        _check_extra_inputs(task, x, wanted, may_be_one=is_single(x))
    return x


def features_in_memory(task, x):
    """Returns the features of examples in memory, `[n, K]`."""
    if is_dataset(x):
        raise ValueError(
            "The features of a dataset can't be looked at before training: call "
            "model.adapt_features(features) first, with those of the training data."
        )
    return checked_inputs(task, x)["features"]


def _check_extra_inputs(task, x, wanted, may_be_one):
    """Raises a ValueError unless arrays or specs have the shapes `wanted`, `[n, ...]` or of one."""
    form = {name: f"[{', '.join(['n', *map(str, shape)])}]" for name, shape in wanted.items()}
    if not isinstance(x, dict) or not wanted.keys() <= x.keys():
        numbers = ", ".join(f"'{name}': {shape} numbers" for name, shape in form.items())
        raise ValueError(
            f"This {type(task).__name__} takes {' and '.join(wanted)} alongside text: give "
            f"{{'text': texts, {numbers}}}."
        )
    for name, shape in wanted.items():
        given = tuple(x[name].shape)
        is_shape = given[1:] == shape or (may_be_one and given == shape)
        if not is_shape and None not in (*shape, *given[1:]):
            raise ValueError(
                f"{name} must be {form[name]} for this {type(task).__name__}; got shape {given}."
            )
