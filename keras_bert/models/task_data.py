"""Conversion of examples to Keras's training data: methods of `BertTask`."""

import dataclasses
import math
import types

import keras
import numpy as np

from keras_bert.losses import Distillation
from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing.batches import Batches, prepared_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.checked_numbers import weight_arrays
from keras_bert.preprocessing.iterables import PassBatches, raw_passes
from keras_bert.preprocessing.prepared_inputs import input_arrays, with_input_checks
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
    one_each,
)


def in_memory(task, x, y=None, sample_weight=None, with_labels=True, most=None):
    """Reads an iterable of raw examples, up to `most`; returns anything else as it is.

    An iterable yields labels, too, if `with_labels` and `y` is None.
    """
    _check_labels_apart(x, y)
    y, sample_weight = (  # columns of a data set
        list(v) if is_iterable(v) and hasattr(v, "__getitem__") else v for v in (y, sample_weight)
    )
    are_labelled = with_labels and y is None and not task.takes_columns
    passes, x = raw_passes(x, with_labels=are_labelled, most=most)
    if passes is None:
        return x, y, sample_weight
    if not with_labels:
        return passes.read()[0], y, sample_weight
    if sample_weight is not None and passes.are_several:
        raise ValueError(
            f"sample_weight has no place in a {type(x).__name__}, which may change its order: make "
            "it yield (text, label, weight)."
        )
    x, *own = passes.read()
    return (
        x,
        _one_of("labels", "y", own[0], y),
        _one_of("weights", "sample_weight", own[1], sample_weight),
    )


def _one_of(what, name, own, given):
    """Returns the labels or weights that examples hold, or those given apart from them."""
    if own is not None and given is not None:
        raise ValueError(f"The examples hold their {what}: leave {name} out.")
    return given if own is None else own


def training_data(task, x, y, sample_weight, batching, arguments):
    """Like `in_memory`, but an iterable that yields other examples in each pass is read ahead."""
    steps, epochs = (arguments.get(name) for name in ("steps_per_epoch", "epochs"))
    most = None if steps is None else steps * batching.batch_size
    if y is None and sample_weight is None:
        passes, x = raw_passes(x, with_labels=not task.takes_columns, most=most)
        number = (epochs or 1) - arguments.get("initial_epoch", 0)
        if passes is not None and passes.are_several and number > 1:

            def make(index):
                seed = None if batching.seed is None else batching.seed + index
                own = dataclasses.replace(batching, seed=seed)
                return _labelled_batches(task, passes.read(), own)

            return PassBatches(make, number), None, None
    return in_memory(task, x, y, sample_weight, most=most)


def batches(task, x, y=None, sample_weight=None, *, batching=None):
    """Makes the batches that `fit` trains on; see `BertTask.batches`."""
    batching = batching_of(batching)
    x, y, sample_weight = in_memory(task, x, y, sample_weight)
    if is_raw(x):
        return _raw_batches(task, x, y, sample_weight, batching)
    x, y, sample_weight = model_data(task, x, y, sample_weight)
    if not isinstance(x, dict) and not is_dataset(x):
        raise ValueError(f"batches takes examples in memory or a dataset; got {shown(x)}.")
    return prepared_batches(x, y, sample_weight, batching)


def keras_data(task, x, y=None, sample_weight=None, batching=None):
    """Returns `(x, y, sample_weight)` for Keras, with raw examples in batches."""
    if not is_raw(x):
        if isinstance(x, (dict, tuple)):  # arrays, whose labels are apart
            _check_has_labels(task, y is not None)
        return model_data(task, _on_backend(x), y, sample_weight)
    batching = Batching().for_evaluation() if batching is None else batching
    return _on_backend(_labelled_batches(task, (x, y, sample_weight), batching)), None, None


def _labelled_batches(task, data, batching):
    """Makes batches of raw examples, with labels if the task has a loss that takes them."""
    made = _raw_batches(task, *data, batching)
    _check_has_labels(task, _has_labels(made))
    return made


def _check_has_labels(task, has_labels):
    if task.loss is None or has_labels == task.takes_labels:
        return
    if task.takes_labels:
        raise ValueError("There are no labels: give y, or a dataset of (text, label).")
    raise ValueError(f"{type(task).__name__} learns from texts alone: leave the labels out.")


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
    is_list = isinstance(data, list) and len(data) in (2, 3)  # Keras would take it for a tuple
    are_columns = is_list and not isinstance(data[0], (str, bytes, tuple, dict))
    if are_columns or (isinstance(data, tuple) and len(data) not in (2, 3)):
        raise ValueError(
            f"validation_data must be (x, y), (x, y, weights) or a dataset; got {shown(data)}."
        )
    data = keras_data(task, *in_memory(task, *(data if isinstance(data, tuple) else (data,))))
    return data[0] if data[1] is None else data


def batching_of(batching=None, batch_size=None):
    """Returns a `Batching`, by default one of `batch_size` rows."""
    if batching is None:
        return Batching() if batch_size is None else Batching(batch_size)
    if batch_size is not None or not isinstance(batching, Batching):
        raise ValueError(
            f"batching must be a Batching, in place of batch_size; got {shown(batching)} and "
            f"batch_size={batch_size}."
        )
    return batching


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
    preprocessor, x = preprocessor_of(task), with_extra_inputs(task, x)
    if is_dataset(x):
        check_not_empty(x)
        made = preprocessor.batches(x, y, sample_weight, batching=batching)
        _check_dataset_labels(task, made)
        return task.with_checked_labels(made) if _has_labels(made) else made
    sample_weight = example_weights(task, y, sample_weight)
    return preprocessor.batches(x, y, sample_weight, batching=batching)


def _has_labels(batches):
    return isinstance(batches.element_spec if is_dataset(batches) else batches[0], tuple)


def _check_labels_apart(x, y):
    name, columns = getattr(y, "name", None), getattr(x, "columns", ())
    if name is not None and hasattr(x, "dtypes") and name in columns:
        other = next((column for column in columns if column != name), name)
        raise ValueError(
            f"The table of texts contains the labels, {name!r}, too: pass table[{other!r}]."
        )


def model_data(task, x, y=None, sample_weight=None, with_labels=True):
    """Checks data that is not raw; labels get the form of the loss.

    `x` is a dict of arrays, or a tuple of dicts, one for each text of an example; or batches with
    their labels: a dataset, a generator, a `PyDataset` or a loader.
    """
    are_columns = isinstance(x, tuple) and bool(x) and all(isinstance(each, dict) for each in x)
    if isinstance(x, dict) or (task.takes_columns and are_columns):
        return _array_data(task, x, y, sample_weight)
    x = with_extra_inputs(task, x)
    if is_dataset(x):
        return _dataset(task, x, with_labels), y, sample_weight
    if isinstance(x, types.GeneratorType):
        return _generated(task, x), y, sample_weight
    first = first_element(x)
    if first is None:
        raise ValueError(
            f"{type(task).__name__} takes raw examples, or {', '.join(task.input)} in a dict, or "
            f"batches of either; got {shown(x)}."
        )
    _check_not_raw(x, first)
    if with_labels:
        _check_structure(task, first)
    return x, y, sample_weight


def _dataset(task, dataset, with_labels):
    """Makes a dataset of inputs end in an error at wrong values."""
    check_not_empty(dataset)
    dataset = with_input_checks(task, dataset)
    if not with_labels or isinstance(task.loss, Distillation):
        return dataset
    _check_dataset_labels(task, dataset)
    return task.with_checked_labels(dataset)


def _generated(task, batches):
    for batch in batches:
        parts = batch if isinstance(batch, tuple) else (batch,)
        _check_not_raw(batches, parts)
        parts = tuple(part for part in model_data(task, *parts[:3]) if part is not None)
        yield parts if isinstance(batch, tuple) else parts[0]


def _array_data(task, x, y, sample_weight):
    """Checks inputs in memory and converts their labels, `[n, K]` if rows are packed."""

    def arrays(inputs):
        inputs = with_extra_inputs(task, inputs) if "token_ids" in inputs else inputs
        return input_arrays(task, inputs)

    x = tuple(map(arrays, x)) if isinstance(x, tuple) else arrays(x)
    _check_structure(task, (x, y))
    if "cls_positions" not in x or len(getattr(task.output, "shape", ())) != 2:
        rows = len(keras.tree.flatten(x)[0])
        return x, *_row_targets(task, x, y, sample_weight, rows)
    slots = np.shape(x["cls_positions"])
    y = _slots_as_rows("y", y, slots)
    sample_weight = _slots_as_rows("sample_weight", sample_weight, slots)
    targets = _row_targets(task, x, y, sample_weight, math.prod(slots))
    return x, *(v if v is None else np.reshape(v, (*slots, *np.shape(v)[1:])) for v in targets)


def _row_targets(task, x, y, sample_weight, rows):
    sample_weight = example_weights(task, y, sample_weight, rows)
    return None if y is None else task.targets(y, x), sample_weight


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


def _check_not_raw(x, element):
    if is_raw(element[0] if isinstance(element, (tuple, list)) and element else element):
        raise ValueError(
            f"A {type(x).__name__} can't yield batches of raw examples: give single ones, a list, "
            "or a tf.data.Dataset."
        )


def _check_dataset_labels(task, dataset):
    _check_structure(task, dataset.element_spec)
    task.check_labels(labels_spec(dataset))


def _check_structure(task, example):
    y = example[1] if isinstance(example, tuple) and len(example) > 1 else None
    if y is not None and isinstance(task.output, dict) and not isinstance(y, dict):
        names = ", ".join(task.output)
        raise ValueError(f"{type(task).__name__} takes a dict of labels: {names}; got {shown(y)}.")


def example_weights(task, y, sample_weight, rows=None):
    """Returns the weights of examples as floats, after a check of labels and weights."""
    check_columns(task, rows, y=y, sample_weight=sample_weight)
    weights = weight_arrays(sample_weight)
    has_one_each = len(getattr(task.output, "shape", ())) == 2  # and no axis of tokens
    if has_one_each and np.shape(weights)[1:] not in ((), (1,)):
        raise ValueError(
            f"sample_weight must be [n], a number for each example; got {shown(sample_weight)}."
        )
    task.check_labels(y)
    return one_each(weights) if has_one_each and np.ndim(weights) == 2 else weights


def check_columns(task, rows=None, **columns):
    """Raises a ValueError unless labels or weights have a value for each of some examples."""
    for name, values in columns.items():
        is_dict = isinstance(values, dict) and isinstance(task.output, dict)
        for part in values.values() if is_dict else [values]:
            if part is None:
                continue
            if not _is_column(part):
                raise ValueError(f"{name} must have a value for each example; got {shown(part)}.")
            if len(part) == 0:
                raise ValueError(f"{name} is empty: give a value for each example.")
            if rows is not None:
                check_one_each(rows, "rows", **{"labels or weights": part})


def _is_column(values):
    """Returns whether values can be read one by one: a list, an array or a table's column."""
    if isinstance(values, (str, bytes, dict, keras.utils.PyDataset)) or is_dataset(values):
        return False
    shape = getattr(values, "shape", None)
    has_items = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return has_items and shape != () and (shape is None or 0 not in shape[1:])


def with_extra_inputs(task, x):
    """Returns raw or prepared inputs with the task's extra inputs, such as features, as float32.

    Raises:
        ValueError: if an extra input is missing, has the wrong shape, or is not finite.
    """
    own = {*task.backbone.input, "segment_ids"}  # every row has these
    wanted = {name: tuple(each.shape[1:]) for name, each in task.input.items() if name not in own}
    if not wanted:
        return x
    if is_dataset(x):
        spec = x.element_spec[0] if isinstance(x.element_spec, tuple) else x.element_spec
        _check_extra_inputs(task, spec, wanted, may_be_one=True)
        return x  # whose values `with_input_checks` or the preprocessor checks
    if isinstance(x, dict):
        extra = {name: extra_input_array(name, x[name]) for name in wanted if name in x}
        x = {**as_arrays(x), **extra}
    if not is_iterable(x) and not isinstance(x, keras.utils.PyDataset):
        _check_extra_inputs(task, x, wanted, may_be_one=is_single(x))
    return x


def _check_extra_inputs(task, x, wanted, may_be_one):
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
