"""Examples in memory as a `tf.data.Dataset`, which TensorFlow's strategies distribute."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
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
    dataset = _of_passes(batches, signature)
    if batches.num_batches is not None:
        known_length = tf.data.experimental.assert_cardinality(batches.num_batches)
        dataset = dataset.apply(known_length)
    return prefetched(dataset)


def _of_passes(batches, signature):
    """Makes a dataset of which each iterator reads a pass of `batches`.

    `Dataset.from_generator` would tell glibc, for the rest of the process, to get each block of
    128 KB from the system and to give it back after use: train steps then took 1.4 times as long
    (TensorFlow 2.21, Python 3.11).
    """
    specs = tf.nest.flatten(signature)
    nothing = [np.zeros([size or 0 for size in s.shape], s.dtype.as_numpy_dtype) for s in specs]
    passes = {}  # by number
    numbers = itertools.count()

    def begin():
        for number in list(passes)[:-1]:  # which somebody stopped reading
            del passes[number]
        number = next(numbers)
        passes[number] = iter(batches)
        return np.int64(number)

    def following(number):
        batch = next(passes[number], None)
        if batch is None:
            del passes[number]
            return [np.False_, *nothing]
        return [np.True_, *tf.nest.flatten(batch)]

    def of_pass(_):
        number = tf.numpy_function(begin, [], tf.int64)
        types = [tf.bool, *(spec.dtype for spec in specs)]
        steps = tf.data.Dataset.counter()
        elements = steps.map(lambda _: tuple(tf.numpy_function(following, [number], types)))
        return elements.take_while(lambda is_batch, *_: tf.ensure_shape(is_batch, []))

    def packed(_, *arrays):
        arrays = [tf.ensure_shape(a, spec.shape) for a, spec in zip(arrays, specs, strict=True)]
        return tf.nest.pack_sequence_as(signature, arrays)

    return tf.data.Dataset.from_tensors(0).flat_map(of_pass).map(packed)


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
