"""Overlapping windows of long texts. B texts, N windows."""

import tensorflow as tf


def overlapping_windows(
    token_ids: tf.RaggedTensor, room: int, stride: int
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts texts of any length into windows, in Python, `tf.data` and a SavedModel.

    The windows of a text start `stride` tokens apart, and the last window ends with the text. A
    text that fits is one window; so is an empty text.

    Args:
        token_ids: ragged `[B, (T)]`.
        room: int, the maximum number of tokens in a window.
        stride: int, at most `room`.

    Returns:
        `(windows, counts)`: ragged `[N, (T)]`, text after text, and int64 `[B]`, the number of
        windows of each text.
    """
    lengths, row_starts = token_ids.row_lengths(), token_ids.row_starts()
    counts = 1 + tf.maximum(-((room - lengths) // stride), 0)  # [B], rounded up
    first = tf.ragged.range(counts) * stride + row_starts[:, None]
    last = tf.minimum(first + room, (row_starts + lengths)[:, None])
    numbers = tf.ragged.range(first.flat_values, last.flat_values)
    values = tf.gather(token_ids.flat_values, numbers.flat_values)
    return numbers.with_flat_values(values), counts
