"""Labels of a dataset that are looked at on their way to the model."""

import tensorflow as tf


def checked_labels(dataset, num_classes):
    """The same dataset, which ends in an error where a label is none of the classes.

    A model can't tell: on a GPU or a TPU the loss of a label outside the classes is NaN, or is
    another class'. Labels are looked at in the input pipeline, once each, so the step that trains
    has nothing more to do.

    Args:
        dataset: a `tf.data.Dataset` of `(x, label)` or `(x, label, weight)`, batched or not. What
            is of another kind, or has several numbers as the label of an example, is left alone.
        num_classes: int, C; labels are 0 to C - 1.

    Returns:
        A `tf.data.Dataset` of the same elements. Taking a batch with another label from it raises
        a `tf.errors.InvalidArgumentError` that names the label.

    Raises:
        ValueError: if the dataset gives no labels, or strings.

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
            "The dataset gives no labels; let it give (x, label), the label a class number from 0 "
            f"to {num_classes - 1}. (Of two strings, the second is taken for a second text.)"
        )
    label = spec[1]
    if not isinstance(label, tf.TensorSpec) or not _is_one_each(label.shape):
        return dataset
    allowed = f"0 to {num_classes - 1}"
    if label.dtype == tf.string:
        raise ValueError(
            f"Labels must be class numbers, {allowed}; the dataset gives strings. Use "
            "label_names.index(name) to number named classes."
        )
    message = (
        f"Labels must be in {allowed} for num_classes={num_classes}. Number the classes from 0, "
        "or make the model with as many as there are. Labels outside:"
    )

    def check(x, labels, *weights):
        numbers = tf.reshape(tf.cast(labels, tf.float64), [-1])
        is_inside = (numbers >= 0) & (numbers < num_classes)
        outside = tf.boolean_mask(tf.reshape(labels, [-1]), ~is_inside)
        assertion = tf.debugging.Assert(tf.reduce_all(is_inside), [message, outside])
        with tf.control_dependencies([assertion]):
            return (x, tf.identity(labels), *weights)

    return dataset.map(check)


def _is_one_each(shape):
    return shape.rank in (None, 0, 1) or shape[1:] == (1,)
