"""Checks of a dataset's labels in the input pipeline."""

from collections.abc import Sequence
from typing import TypeVar

import tensorflow as tf

_Data = TypeVar("_Data")


def checked_labels(dataset: _Data, num_classes: int) -> _Data:
    """Makes a dataset raise an error at a label outside the classes.

    A model can't detect such a label: on a GPU or a TPU its loss is NaN, or the loss of another
    class. Labels are checked once each, in the input pipeline, so the train step has no extra work.

    Args:
        dataset: a `tf.data.Dataset` of `(x, label)` or `(x, label, weight)`, batched or not.
            Anything else is returned unchanged, and so are labels of several numbers each.
        num_classes: int, C; labels are 0 to C - 1.

    Returns:
        A `tf.data.Dataset` of the same elements. Reading a batch with another label raises a
        `tf.errors.InvalidArgumentError` that names the label.

    Raises:
        ValueError: if the dataset yields no labels, or strings as labels.

    Example:
    >>> import tensorflow as tf
    >>> dataset = tf.data.Dataset.from_tensor_slices(([10, 20], [0, 1])).batch(2)
    >>> [labels.tolist() for _, labels in checked_labels(dataset, 2).as_numpy_iterator()]
    [[0, 1]]
    """
    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2:
        raise ValueError(
            "The dataset yields no labels; make it yield (x, label), the label a class number "
            f"from 0 to {num_classes - 1}."
        )
    label = spec[1]
    is_packed = isinstance(spec[0], dict) and "cls_positions" in spec[0]  # with labels [B, K]
    if not isinstance(label, tf.TensorSpec) or not (_is_one_each(label.shape) or is_packed):
        return dataset
    if label.dtype == tf.string:
        raise ValueError(
            f"Labels must be class numbers, 0 to {num_classes - 1}; the dataset yields strings. "
            "Use label_names.index(name) to number named classes."
        )
    names = [*map(str, range(num_classes))]

    @tf.autograph.experimental.do_not_convert
    def check(x, labels, *rest):
        one_each = tf.reshape(labels, [-1]) if is_packed else labels
        return (x, tf.reshape(checked_classes(one_each, names), tf.shape(labels)), *rest)

    return dataset.map(check, tf.data.AUTOTUNE, deterministic=True)


def checked_classes(labels: tf.Tensor, names: Sequence[str] | None) -> tf.Tensor:
    """Converts a batch's labels to class numbers in the graph; unknown labels are errors.

    Args:
        labels: class numbers, or strings, the names of classes.
        names: C strings, the classes; or None if they are unknown, for labels by number.

    Raises:
        ValueError: if labels are strings, and the names are unknown.
    """
    if labels.dtype == tf.string:
        if not names:
            raise ValueError("Labels must be class numbers; the dataset yields strings.")
        is_name = labels[..., None] == tf.constant(names)  # [B, C]
        message = f"Labels must be one of {', '.join(names)}. Others:"
        is_inside, numbers = tf.reduce_any(is_name, -1), tf.argmax(is_name, -1, tf.int32)
    else:
        if names is None or not _is_one_each(labels.shape):
            return labels
        message = (
            f"Labels must be in 0 to {len(names) - 1} for num_classes={len(names)}. Number the "
            "classes from 0, or make the model with a larger num_classes. Labels outside:"
        )
        values = tf.cast(labels, tf.float64)
        is_inside, numbers = (values >= 0) & (values < len(names)), labels
        is_inside &= values == tf.floor(values)
    outside = tf.boolean_mask(tf.reshape(labels, [-1]), ~tf.reshape(is_inside, [-1]))
    assertion = tf.debugging.Assert(tf.reduce_all(is_inside), [message, outside])
    with tf.control_dependencies([assertion]):
        return tf.identity(numbers)


def checked_choices(dataset: _Data) -> _Data:
    """Makes a dataset raise an error at a label that isn't the index of a choice.

    A model can't detect such a label: its loss would be NaN or 1e9. See `checked_labels`.

    Args:
        dataset: a `tf.data.Dataset` of batches of `(inputs, label)` or `(inputs, label, weight)`.

    Returns:
        A `tf.data.Dataset` of the same elements. Reading a batch with another label raises a
        `tf.errors.InvalidArgumentError` that names the label.

    Raises:
        ValueError: if the dataset yields something else.
    """
    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2 or not isinstance(spec[0], dict):
        raise ValueError(
            "The dataset must yield (inputs, label): a dict of inputs and the indices of the right "
            "choices, as BertMultipleChoice.batches returns them."
        )
    message = "Labels must be indices of choices, from 0 in each question. Others:"

    @tf.autograph.experimental.do_not_convert
    def check(inputs, labels, *weights):
        tokens = inputs["token_ids"]
        tokens = inputs.get("padding_mask", tf.ones_like(tokens))  # [B, C, S]
        is_there = tf.reduce_any(tf.cast(tokens, tf.bool), axis=-1)  # [B, C]
        flat = tf.reshape(tf.cast(labels, tf.int64), [-1])
        is_chosen = tf.one_hot(flat, tf.shape(is_there)[1], True, False, dtype=tf.bool)
        is_right = tf.reduce_any(is_chosen & is_there, axis=-1)
        wrong = tf.boolean_mask(flat, ~is_right)
        assertion = tf.debugging.Assert(tf.reduce_all(is_right), [message, wrong])
        with tf.control_dependencies([assertion]):
            return (inputs, tf.identity(labels), *weights)

    return dataset.map(check, tf.data.AUTOTUNE, deterministic=True)


def _is_one_each(shape):
    return shape.rank in (None, 0, 1) or shape[1:] == (1,)
