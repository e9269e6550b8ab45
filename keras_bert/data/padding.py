"""Padding, no more of it than there must be."""

import tensorflow as tf


def trim_padding(inputs, bucket_lengths=None):
    """Cuts a dict of `[B, S]` inputs, padded on the right, to their longest row.

    With `bucket_lengths`, to the smallest of them that the longest row fits.
    """
    longest = tf.reduce_max(tf.reduce_sum(inputs["padding_mask"], axis=-1))
    longest = tf.maximum(longest, 1)  # also where B is 0
    if bucket_lengths is not None:
        buckets = tf.constant(sorted(bucket_lengths), longest.dtype)
        longest = tf.gather(buckets, tf.searchsorted(buckets, longest[None])[0])
    return {name: values[..., :longest] for name, values in inputs.items()}
