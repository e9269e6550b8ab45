"""Which rows of examples in memory make up a batch."""

import numpy as np
import tensorflow as tf


def row_batches(
    lengths,
    batch_size,
    *,
    shuffle=False,
    seed=None,
    longest_first=False,
    bucket_lengths=None,
    tokens_per_batch=None,
    drop_remainder=False,
):
    """Numbers of rows, batch by batch; on wish, rows of like lengths together.

    Args:
        lengths: `[n]` ints, the tokens of each row.
        batch_size: int.
        shuffle: bool, whether rows are shuffled in each epoch.
        seed: int, of the shuffling.
        longest_first: bool, whether rows are in the order of their lengths; not with the others.
        bucket_lengths: ints, lengths that batches are padded to: a row is batched with others that
            need the same one. The longest row must fit the largest. None batches any with any.
        tokens_per_batch: int, in place of `batch_size`: a batch has as many rows as make up so
            many tokens, padding included. It needs `bucket_lengths`.
        drop_remainder: bool, whether batches that have fewer rows are left out.

    Returns:
        A `tf.data.Dataset` of int64 `[B]`, of known length.

    Raises:
        ValueError: if a size is below 1, or the lengths of the buckets don't do.
    """
    lengths = np.asarray(lengths, "int32")
    check_buckets(bucket_lengths, tokens_per_batch, batch_size, int(lengths.max(initial=0)))
    rows = tf.data.Dataset.range(len(lengths))
    if longest_first:
        rows = tf.data.Dataset.from_tensor_slices(by_length(lengths))
    if shuffle:
        rows = rows.shuffle(len(lengths), seed=seed)
    if bucket_lengths is None:
        return rows.batch(batch_size, drop_remainder=drop_remainder)
    buckets = np.array(sorted(bucket_lengths))
    sizes = np.full(len(buckets), batch_size)
    if tokens_per_batch is not None:
        sizes = tokens_per_batch // buckets
    with tf.device("CPU:0"):
        in_memory = tf.constant(lengths)
    batches = rows.bucket_by_sequence_length(
        lambda row: tf.gather(in_memory, row),
        bucket_boundaries=(buckets[:-1] + 1).tolist(),
        bucket_batch_sizes=sizes.tolist(),
        no_padding=True,
        drop_remainder=drop_remainder,
    )
    counts = np.bincount(np.searchsorted(buckets, lengths), minlength=len(buckets))
    num_batches = int(np.sum(counts // sizes if drop_remainder else -(-counts // sizes)))
    return batches.apply(tf.data.experimental.assert_cardinality(num_batches))


def prepared(batches, prepare):
    """Batches that `prepare` makes of others, on all cores.

    Where those are known to have a number of rows, so are these.
    """

    def with_known_rows(*parts):
        rows = tf.TensorShape(tf.nest.flatten(parts)[0].shape[:1])
        return tf.nest.map_structure(
            lambda part: tf.ensure_shape(part, rows.concatenate(part.shape[1:])), prepare(*parts)
        )

    batches = batches.map(with_known_rows, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE)


def by_length(lengths):
    """Numbers of rows, the longest first: neighbours need about the same padding."""
    return np.argsort(-np.asarray(lengths), kind="stable")


def quarters(length):
    """Four lengths that batches may have, the last the whole: little padding in few shapes."""
    return sorted({-(-length * part // 4) for part in (1, 2, 3, 4)})


def check_buckets(bucket_lengths, tokens_per_batch, batch_size, longest):
    """Raises a ValueError if rows can't be batched so."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    if bucket_lengths is None:
        if tokens_per_batch is not None:
            raise ValueError(
                "tokens_per_batch needs bucket_lengths, the lengths that batches are padded to, "
                "for instance bucket_lengths=(32, 64, 128)."
            )
        return
    buckets = list(bucket_lengths)
    if not buckets or min(buckets) < 1 or max(buckets) < longest:
        raise ValueError(
            f"bucket_lengths must be positive, and the largest of them at least {longest}, the "
            f"length of the longest row; got {buckets}."
        )
    if tokens_per_batch is not None and tokens_per_batch < max(buckets):
        raise ValueError(
            f"tokens_per_batch={tokens_per_batch} leaves no room for a row of the largest of "
            f"bucket_lengths, {max(buckets)}. Give at least as much."
        )
