"""Labels of choices that are looked at on their way to the model."""

import tensorflow as tf


def checked_choices(dataset):
    """The same dataset, which ends in an error where a label isn't that of a choice.

    A model can't tell: its loss would be NaN, or 1e9. See `checked_labels`.

    Args:
        dataset: a `tf.data.Dataset` of batches of `(inputs, label)` or `(inputs, label, weight)`,
            the inputs as `choice_dataset` gives them.

    Returns:
        A `tf.data.Dataset` of the same elements. Taking a batch with another label from it raises
        a `tf.errors.InvalidArgumentError` that names the label.

    Raises:
        ValueError: if the dataset gives something else.
    """
    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2 or not isinstance(spec[0], dict):
        raise ValueError(
            "The dataset must give (inputs, label): the inputs' dict and the places of the right "
            "choices, as choice_dataset gives them."
        )
    message = "Labels must be the places of choices, numbered from 0 in each question. Others:"

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

    return dataset.map(check)
