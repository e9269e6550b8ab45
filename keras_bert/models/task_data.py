"""Conversion of examples to Keras's training data: methods of `BertTask`."""

import dataclasses

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.class_labels import check_not_one_hot
from keras_bert.preprocessing.model_inputs import checked_inputs
from keras_bert.preprocessing.raw import count, is_dataset, is_raw, take


def batches(task, x, y=None, sample_weight=None, *, batching=None):
    """Makes the batches that `fit` trains on.

    Args:
        task: a `BertTask`.
        x: raw examples, in memory or a `tf.data.Dataset` of texts; or prepared inputs.
        y: labels, by name or by number, unless `x` contains them.
        sample_weight: `[n]` floats, or None.
        batching: a `Batching`, or None for its defaults.

    Returns:
        A `tf.data.Dataset` of inputs, or of `(inputs, labels)` or `(inputs, labels, weights)`.

    Raises:
        ValueError: if examples, labels or weights are not what the task takes.
    """
    batching = Batching() if batching is None else batching
    if is_raw(x):
        return _raw_batches(task, x, y, sample_weight, batching)
    from keras_bert.preprocessing.prepared import prepared_batches

    return prepared_batches(*_checked(task, x, y, sample_weight), batching)


def keras_data(task, x, y=None, sample_weight=None, batching=None):
    """Returns `(x, y, sample_weight)` for Keras, with raw examples as a dataset."""
    if not is_raw(x):
        return _checked(task, x, y, sample_weight)
    batching = Batching().for_evaluation() if batching is None else batching
    found = _raw_batches(task, x, y, sample_weight, batching)
    if task.loss is not None and not isinstance(found.element_spec, tuple):
        raise ValueError(
            "The dataset yields no labels; make it yield (text, label)."
            if is_dataset(x)
            else "There are no labels: give y, or a dataset of (text, label)."
        )
    return found, None, None


def validation_data(task, data):
    """Converts the `validation_data` of `fit`, a tuple or a dataset, with `keras_data`."""
    if data is None:
        return None
    found = keras_data(task, *(data if isinstance(data, tuple) else (data,)))
    return found[0] if is_dataset(found[0]) else found


def split(parts, validation_split):
    """Splits `(x, y, sample_weight)` in memory into the first examples and the last."""
    if is_dataset(parts[0]):
        raise ValueError(
            "validation_split needs examples in memory. Split the dataset with take and skip, and "
            "pass validation_data."
        )
    cut = int(count(parts[0]) * (1 - validation_split))
    first, last = slice(cut), slice(cut, None)
    return tuple(take(p, first) for p in parts), tuple(take(p, last) for p in parts)


def merged_batching(batching, batch_size, shuffle=False):
    """Merges the arguments of `fit` or `evaluate` into one `Batching`."""
    if batching is not None and batch_size is not None:
        raise ValueError("Give batch_size or batching, not both: Batching(batch_size=...).")
    batching = Batching(batch_size or 32) if batching is None else batching
    return dataclasses.replace(batching, shuffle=bool(shuffle) and not batching.longest_first)


def reader_of(task):
    """Returns the task's preprocessor.

    Raises:
        ValueError: if the task has none.
    """
    if task.preprocessor is None:
        raise ValueError(
            f"{type(task).__name__} was given text, but it has no preprocessor. Make it with "
            f"preprocessor={task.preprocessor_class().__name__}(tokenizer), or start from a preset "
            "that has one."
        )
    return task.preprocessor


def _raw_batches(task, x, y, sample_weight, batching):
    reader, x = reader_of(task), checked_inputs(task, x)
    task.check_labels(y)
    return reader.batches(x, y, sample_weight, batching=batching)


def _checked(task, x, y, sample_weight):
    """Checks prepared inputs and converts their labels to the loss's form."""
    x = checked_inputs(task, x)
    if is_dataset(x):
        return task.checked_dataset(x), y, sample_weight
    task.check_labels(y)
    return x, None if y is None else task.targets(y, x), sample_weight


def check_labels(task, y):
    """Raises a ValueError if labels are one-hot, unless the task's loss takes them."""
    shape = getattr(task.output, "shape", ())  # a token classifier's labels are lists of any length
    if y is not None and hasattr(task, "num_classes") and len(shape) == 2:
        loss = task.loss if task.compiled else task.default_compile_args()["loss"]
        check_not_one_hot(y, task.num_classes, loss)
