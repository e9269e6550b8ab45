"""Packing of token ids into BERT's input rows. B texts, T tokens of a text."""

import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer

TRUNCATIONS = ("head", "tail", "head_tail")


def pack(
    tokenizer: BertTokenizer,
    length: int,
    truncation: str,
    first: tf.RaggedTensor,
    second: tf.RaggedTensor | None = None,
) -> dict[str, tf.Tensor]:
    """Packs ragged token ids as `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, truncated and padded.

    In a pair, the longer text loses a token until both fit, the second one on ties. Each text thus
    keeps at least its half of the room, and more if the other text is shorter. In a room of 5
    tokens, texts of 4 and 2 tokens keep 3 and 2; texts of 4 and 4 also keep 3 and 2.

    Args:
        tokenizer: a `BertTokenizer`, for the ids of special tokens.
        length: int, S.
        truncation: one of `TRUNCATIONS`.
        first: int32 ragged `[B, (T)]`.
        second: the same, or None.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask`, each int32 `[B, S]`.
    """
    batch = first.nrows()
    start = tf.fill([batch, 1], tokenizer.cls_token_id)
    end = tf.fill([batch, 1], tokenizer.sep_token_id)
    if second is None:
        row = tf.concat([start, truncated(first, length - 2, truncation), end], axis=1)
        segment_ids = tf.zeros([batch, length], tf.int32)
    else:
        room = length - 3
        longer, shorter = (room + 1) // 2, room // 2
        first_lengths, second_lengths = _row_lengths(first), _row_lengths(second)
        keep_first = tf.minimum(first_lengths, tf.maximum(longer, room - second_lengths))
        keep_second = tf.minimum(second_lengths, tf.maximum(shorter, room - keep_first))
        first = truncated(first, keep_first, truncation)
        second = truncated(second, keep_second, truncation)
        row = tf.concat([start, first, end, second, end], axis=1)
        columns = tf.range(length)
        is_second = (columns >= keep_first[:, None] + 2) & (
            columns < (keep_first + keep_second)[:, None] + 3
        )
        segment_ids = tf.cast(is_second, tf.int32)
    padding_mask = tf.sequence_mask(_row_lengths(row), length, dtype=tf.int32)
    token_ids = row.to_tensor(tokenizer.pad_token_id, shape=[None, length])
    return {
        "token_ids": tf.ensure_shape(token_ids, [None, length]),
        "segment_ids": tf.ensure_shape(segment_ids, [None, length]),
        "padding_mask": tf.ensure_shape(padding_mask, [None, length]),
    }


def truncated(ragged: tf.RaggedTensor, room: int | tf.Tensor, truncation: str) -> tf.RaggedTensor:
    """Keeps at most `room` tokens, an int or `[B]`, of each row of `ragged`."""
    starts, ends = ragged.row_starts(), ragged.row_limits()
    keep = tf.minimum(ends - starts, tf.cast(room, starts.dtype))
    if truncation == "head":
        tokens = tf.ragged.range(starts, starts + keep)
    elif truncation == "tail":
        tokens = tf.ragged.range(ends - keep, ends)
    else:  # the two parts make up the complete row if it fits
        first = (keep + 3) // 4
        parts = (starts, starts + first), (ends - keep + first, ends)
        tokens = tf.concat([tf.ragged.range(*part) for part in parts], axis=1)
    return tokens.with_flat_values(tf.gather(ragged.flat_values, tokens.flat_values))


def _row_lengths(ragged):
    return tf.cast(ragged.row_lengths(), tf.int32)
