"""Padding, no more of it than there must be."""

import tensorflow as tf


def trim_padding(inputs, lengths=None):
    """Cuts a dict of `[B, S]` inputs, padded on the right, to their longest row.

    With `lengths`, to the smallest of them that the longest row fits.
    """
    longest = tf.reduce_max(tf.reduce_sum(inputs["padding_mask"], axis=-1))
    longest = tf.maximum(longest, 1)  # also where B is 0
    if lengths is not None:
        lengths = tf.constant(sorted(lengths), longest.dtype)
        longest = tf.gather(lengths, tf.searchsorted(lengths, longest[None])[0])
    return {name: values[..., :longest] for name, values in inputs.items()}


def trimmed(inputs, trim, bucket_lengths):
    """Inputs cut as a dataset is told to: to buckets, to other lengths, to the longest row, or not.

    Args:
        inputs: a dict of `[B, S]`.
        trim: bool, or lengths that the inputs may be cut to; they may be left whole too.
        bucket_lengths: the lengths of the buckets, which come first; or None.
    """
    if bucket_lengths is not None:
        return trim_padding(inputs, bucket_lengths)
    if isinstance(trim, bool):
        return trim_padding(inputs) if trim else inputs
    return trim_padding(inputs, {*trim, inputs["padding_mask"].shape[-1]})
