"""Best-fit packing: which sequences share a row."""

import tensorflow as tf


def best_fit(
    lengths: tf.Tensor,
    predictions: tf.Tensor,
    *,
    sequence_length: int,
    max_predictions: int,
    sequences_per_row: int,
) -> tf.Tensor:
    """Packs sequences into rows, the longest first, each into the fullest row that has room.

    `lengths` `[n]` count the tokens of each sequence, special ones included, and `predictions`
    `[n]` those to predict. A row has room for `sequence_length` tokens, `max_predictions`
    predictions and `sequences_per_row` sequences, K. Returns int32 `[rows, K]`: the numbers of the
    sequences in each row, then -1 in unused slots.
    """
    if sequences_per_row == 1:
        return tf.range(tf.size(lengths))[:, None]
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    ordered, needed = tf.gather(lengths, order), tf.gather(predictions, order)
    # The first sequences leave no room even for the shortest one.
    num_alone = tf.reduce_sum(tf.cast(ordered > sequence_length - ordered[-1:], tf.int32))
    shared = _rows_of(
        ordered[num_alone:],
        needed[num_alone:],
        tf.constant([sequence_length, max_predictions, sequences_per_row]),
    )
    row = tf.concat([tf.range(num_alone), num_alone + shared], axis=0)
    by_row = tf.argsort(row, stable=True)
    row = tf.gather(row, by_row)
    slot = tf.range(tf.size(row)) - tf.searchsorted(row, row)
    num_rows = tf.reduce_max(tf.concat([row, [-1]], axis=0)) + 1
    return tf.tensor_scatter_nd_update(
        tf.fill([num_rows, sequences_per_row], -1),
        tf.stack([row, slot], axis=1),
        tf.gather(order, by_row),
    )


def _rows_of(lengths, predictions, room):
    """Returns the row of each sequence; a row has `room` for tokens, predictions, sequences."""
    count = tf.size(lengths)
    sizes = tf.stack([lengths, predictions, tf.ones_like(lengths)], axis=1)  # [n, 3]
    free = tf.repeat(room[None], count, axis=0)  # [rows, 3], a row for each sequence at most

    def put(i, free, rows):
        size = tf.gather(sizes, i)
        fits = tf.reduce_all(free >= size, axis=1)
        row = tf.argmin(tf.where(fits, free[:, 0], room[0] + 1), output_type=tf.int32)
        free = tf.tensor_scatter_nd_sub(free, [[row]], size[None])
        return i + 1, free, rows.write(i, row)

    rows = tf.TensorArray(tf.int32, count, element_shape=[])
    _, _, rows = tf.while_loop(lambda i, *_: i < count, put, (0, free, rows))
    return rows.stack()
