"""Examples in memory as a `tf.data.Dataset`, which TensorFlow's strategies distribute."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def as_dataset(batches: Any, token_labels: bool = True) -> tf.data.Dataset:
    """Makes a dataset of `Batches` or `StreamBatches`; each pass has an order of its own.

    Shapes are static where all batches have the same, as on a TPU: labels of examples, not of
    tokens, always have the same.
    """
    batching = batches.batching
    first = batches.first
    inputs = first[0] if isinstance(first, tuple) else first
    widths = set()
    if batching.pad_to != "full" or batching.bucket_lengths is not None:
        widths = {array.shape[-1] for array in tf.nest.flatten(inputs) if array.ndim > 1}
    is_full = batching.drop_remainder and batching.tokens_per_batch is None

    def specs(arrays, token_widths):
        def spec(array):
            shape = [None if width in token_widths else width for width in array.shape]
            shape[0] = len(array) if is_full else None
            return tf.TensorSpec(shape, array.dtype)

        return tf.nest.map_structure(spec, arrays)

    signature = specs(inputs, widths)
    if isinstance(first, tuple):
        signature = (signature, *specs(first[1:], widths if token_labels else ()))
    dataset = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    if batches.num_batches is not None:
        known_length = tf.data.experimental.assert_cardinality(batches.num_batches)
        dataset = dataset.apply(known_length)
    return prefetched(dataset)


def prefetched(batches: tf.data.Dataset) -> tf.data.Dataset:
    """Prefetches batches, without tf.data's autotuning; maps have a call for each core.

    Deleting an iterator, as `fit` does after each epoch, stops autotuning, which sleeps longer and
    longer between its turns. A signal that comes during a turn is missed until the next one: in a
    third of the runs an epoch of 3.5 s took 5.4 s (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)


def asserted(
    values: tf.Tensor,
    is_right: tf.Tensor,
    message: str,
) -> tf.Tensor:
    """Returns values whose reading fails, with the wrong ones, unless all are right."""
    is_wrong = ~tf.reshape(is_right, [-1])
    wrong = tf.boolean_mask(tf.reshape(values, [-1]), is_wrong)
    assertion = tf.debugging.Assert(tf.reduce_all(is_right), [message, wrong])
    with tf.control_dependencies([assertion]):
        return tf.identity(values)


def map_checked(dataset: tf.data.Dataset, check: Callable) -> tf.data.Dataset:
    """Checks each element in the input pipeline, so the train step has no extra work."""
    check = tf.autograph.experimental.do_not_convert(check)
    return dataset.map(check, tf.data.AUTOTUNE, deterministic=True)
