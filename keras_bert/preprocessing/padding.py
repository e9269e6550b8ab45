"""Removal of unneeded padding."""

from collections.abc import Iterable

import tensorflow as tf

from keras_bert.preprocessing.batching import Batching


def trim_padding(
    inputs: dict[str, tf.Tensor], lengths: Iterable[int] | None = None
) -> dict[str, tf.Tensor]:
    """Cuts a dict of `[B, S]` inputs, padded on the right, to their longest row.

    With `lengths`, inputs are cut to the smallest length that holds the longest row. Inputs without
    a token axis, such as features, are unchanged.
    """
    padding_mask = inputs["padding_mask"]
    longest = tf.reduce_max(tf.reduce_sum(padding_mask, axis=-1))
    longest = tf.maximum(longest, 1)  # B may be 0
    if lengths is not None:
        lengths = tf.constant(sorted(lengths), longest.dtype)
        longest = tf.gather(lengths, tf.searchsorted(lengths, longest[None])[0])
    return {
        name: values[..., :longest]
        if name in ("token_ids", "segment_ids", "padding_mask")
        else values
        for name, values in inputs.items()
    }


def trimmed(inputs: dict[str, tf.Tensor], batching: Batching) -> dict[str, tf.Tensor]:
    """Cuts inputs to the lengths of a `Batching`.

    Args:
        inputs: a dict of `[B, S]`.
        batching: a `Batching` from `for_rows`.
    """
    if batching.bucket_lengths is not None:
        return trim_padding(inputs, batching.bucket_lengths)
    if batching.pad_to == "full":
        return inputs
    if batching.pad_to == "longest":
        return trim_padding(inputs)
    return trim_padding(inputs, {*batching.pad_to, inputs["padding_mask"].shape[-1]})
