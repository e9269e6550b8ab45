"""Grouping of rows in memory into batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching


def row_batches(lengths: npt.ArrayLike, batching: Batching) -> tf.data.Dataset:
    """Makes batches of row numbers, optionally with rows of similar lengths together.

    Args:
        lengths: `[n]` ints, the tokens of each row.
        batching: a `Batching`.

    Returns:
        A `tf.data.Dataset` of int64 `[B]`, of known length.
    """
    lengths = np.asarray(lengths, "int32")
    rows = tf.data.Dataset.range(len(lengths))
    if batching.longest_first:
        rows = tf.data.Dataset.from_tensor_slices(by_length(lengths))
    if batching.shuffle:
        rows = rows.shuffle(len(lengths), seed=batching.seed)
    if batching.bucket_lengths is None:
        return rows.batch(batching.batch_size, drop_remainder=bool(batching.drop_remainder))
    return _bucketed(rows, lengths, batching)


def _bucketed(rows, lengths, batching):
    buckets = np.array(sorted(batching.bucket_lengths))
    sizes = np.full(len(buckets), batching.batch_size)
    if batching.tokens_per_batch is not None:
        sizes = batching.tokens_per_batch // buckets
    with tf.device("CPU:0"):
        in_memory = tf.constant(lengths)
    batches = rows.bucket_by_sequence_length(
        lambda row: tf.gather(in_memory, row),
        bucket_boundaries=(buckets[:-1] + 1).tolist(),
        bucket_batch_sizes=sizes.tolist(),
        no_padding=True,
        drop_remainder=bool(batching.drop_remainder),
    )
    counts = np.bincount(np.searchsorted(buckets, lengths), minlength=len(buckets))
    full = counts // sizes
    num_batches = int(np.sum(full if batching.drop_remainder else -(-counts // sizes)))
    return batches.apply(tf.data.experimental.assert_cardinality(num_batches))


def map_rows(batches: tf.data.Dataset, make: Callable) -> tf.data.Dataset:
    """Maps batches on all cores; a statically known number of rows stays static.

    As everywhere here, `make` chooses by Python values alone: AutoGraph would only take time.
    """

    @tf.autograph.experimental.do_not_convert
    def with_known_rows(*parts):
        rows = tf.TensorShape(tf.nest.flatten(parts)[0].shape[:1])
        return tf.nest.map_structure(
            lambda part: tf.ensure_shape(part, rows.concatenate(part.shape[1:])), make(*parts)
        )

    return prefetched(batches.map(with_known_rows, num_parallel_calls=tf.data.AUTOTUNE))


def prefetched(batches: tf.data.Dataset) -> tf.data.Dataset:
    """Prefetches batches, without tf.data's autotuning; maps have a call for each core.

    Deleting an iterator, as `fit` does after each epoch, stops autotuning, which sleeps longer and
    longer between its turns. A signal that comes during a turn is missed until the next one: in a
    third of the runs an epoch of 3.5 s took 5.4 s (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)


def alone(parts: tuple) -> Any:
    """Unwraps a tuple that holds the inputs only; other tuples are returned unchanged."""
    return parts if len(parts) > 1 else parts[0]


def by_length(lengths: npt.ArrayLike) -> np.ndarray:
    """Sorts row numbers by length, the longest first, so that neighbors need little padding."""
    return np.argsort(-np.asarray(lengths), kind="stable")
