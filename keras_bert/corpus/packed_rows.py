"""Rows of one or several sequences: which share a row, and where. R rows, K sequences, S tokens."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from keras_bert.corpus.pairs import TextPairs
from keras_bert.corpus.record_groups import RecordGroup
from keras_bert.text.vocabulary import CLS, SEP

_BLOCK = 1024  # sequences that are packed together; larger blocks fill rows hardly better


def sequence_lengths(first_length: tf.Tensor, second_length: tf.Tensor) -> tf.Tensor:
    """Counts the tokens of sequences with their special tokens; 0 without text."""
    lengths = first_length + second_length + tf.where(second_length > 0, 3, 2)
    return tf.where(first_length > 0, lengths, 0)


@dataclasses.dataclass
class Places:
    """The place of each token in its sequence. All fields but the last are int32.

    For K = 1, `middle` and `last` are `[R, 1]`, the same for all tokens of a row.
    """

    lengths: tf.Tensor  # [R, K], tokens of each sequence, 0 in unused slots
    starts: tf.Tensor  # [R, K], the position of each sequence's first token
    slot: tf.Tensor  # [R, S], the sequence of each token, from 0; K at padding
    column: tf.Tensor  # [R, S], the token's position in its sequence
    middle: tf.Tensor  # [R, S], the position of the first [SEP] in the sequence
    last: tf.Tensor  # [R, S], the position of the last token in the sequence
    is_token: tf.Tensor  # bool [R, S], false at padding

    @classmethod
    def of(
        cls,
        first_length: tf.Tensor,
        second_length: tf.Tensor,
        sequence_length: int,
    ) -> Places:
        """Places sequences one after another, given the lengths of their texts, `[R, K]`."""
        lengths = sequence_lengths(first_length, second_length)
        ends = tf.cumsum(lengths, axis=1)
        starts = ends - lengths
        positions = tf.range(sequence_length)
        num_rows = tf.shape(ends)[0]
        of_rows = tf.repeat(positions[None], num_rows, axis=0)
        slot = tf.searchsorted(ends, of_rows, side="right")
        return cls(
            lengths=lengths,
            starts=starts,
            slot=slot,
            column=positions - _at_slots(starts, slot),
            middle=_at_slots(first_length, slot) + 1,
            last=_at_slots(lengths, slot) - 1,
            is_token=positions < ends[:, -1:],
        )


def _at_slots(values, slot):
    """Gathers sequences' values `[R, K]` for each token: `[R, S]`, or `[R, 1]` if K is 1."""
    if values.shape[1] == 1:  # much faster for rows that aren't packed
        return values
    padded = tf.pad(values, [[0, 0], [0, 1]])  # [R, K + 1]
    return tf.gather(padded, slot, batch_dims=1)


def write_rows(
    group: RecordGroup, texts: TextPairs, places: Places, vocabulary: list[str]
) -> tf.Tensor:
    """Writes texts `[R, K]` as token ids: `[CLS] first [SEP] second [SEP]`, and 0 at padding."""
    column = places.column
    in_first = column - 1  # after [CLS]
    in_second = column - places.middle - 1  # after the first [SEP]
    position = tf.where(
        column < places.middle,
        _at_slots(texts.first_start, places.slot) + in_first,
        _at_slots(texts.second_start, places.slot) + in_second,
    )  # [R, S]
    last = tf.size(group.token_ids) - 1
    position = tf.clip_by_value(position, 0, last)
    token_ids = tf.gather(group.token_ids, position)
    is_sep = (column == places.middle) | (column == places.last)
    token_ids = tf.where(is_sep, vocabulary.index(SEP), token_ids)
    token_ids = tf.where(column == 0, vocabulary.index(CLS), token_ids)
    return tf.where(places.is_token, token_ids, 0)


def best_fit(
    lengths: tf.Tensor,
    predictions: tf.Tensor,
    room: tuple[int, int, int],
) -> tf.Tensor:
    """Packs sequences into rows, the longest first, each into the fullest row that has room.

    `lengths` `[n]` count the tokens of each sequence and `predictions` `[n]` those to predict.
    `room` is the most tokens, predictions and sequences of a row: S, P and K. Returns int32
    `[rows, K]`: the indices of the sequences in each row, then -1.
    """
    most_tokens, _, most_sequences = room
    if most_sequences == 1:
        return tf.range(tf.size(lengths))[:, None]
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    lengths = tf.gather(lengths, order)
    predictions = tf.gather(predictions, order)
    shortest = lengths[-1:]  # empty without sequences
    is_alone = lengths + shortest > most_tokens
    num_alone = tf.math.count_nonzero(is_alone, dtype=tf.int32)
    shared = _shared_rows(lengths[num_alone:], predictions[num_alone:], tf.constant(room))
    row = tf.concat([tf.range(num_alone), num_alone + shared], axis=0)
    by_row = tf.argsort(row, stable=True)
    order = tf.gather(order, by_row)
    row = tf.gather(row, by_row)
    rows = tf.RaggedTensor.from_value_rowids(order, row)
    return rows.to_tensor(-1, shape=[None, most_sequences])


def _shared_rows(lengths, predictions, room):
    """Returns the row of each sequence, int32 `[n]`, numbered by first use.

    A row has `room` for tokens, predictions and sequences. Sequences are dealt to B blocks of N,
    each with N rows of its own. A step places a sequence of every block at once, so the time grows
    with N steps of `[B, N]` values.
    """
    num_sequences = tf.size(lengths)
    num_blocks = tf.maximum(1, num_sequences // _BLOCK)
    block_size = tf.maximum(1, -(-num_sequences // num_blocks))
    demands = tf.stack([lengths, predictions, tf.ones_like(lengths)], axis=1)
    num_missing = block_size * num_blocks - num_sequences
    demands = tf.pad(demands, [[0, num_missing], [0, 0]])
    demands = tf.reshape(demands, [block_size, num_blocks, 1, 3])
    free = tf.tile(room[None, None], [num_blocks, block_size, 1])  # [B, N, 3]
    first_row = tf.range(num_blocks) * block_size  # of each block

    def place(step, free, rows):
        fits = tf.reduce_all(free >= demands[step], axis=2)
        free_tokens = tf.where(fits, free[:, :, 0], room[0] + 1)  # [B, N]
        fullest = tf.argmin(free_tokens, 1, tf.int32)  # [B]
        is_fullest = tf.one_hot(fullest, block_size, dtype=tf.int32)
        free -= is_fullest[:, :, None] * demands[step]
        return step + 1, free, rows.write(step, first_row + fullest)

    def has_more(step, free, rows):
        return step < block_size

    rows = tf.TensorArray(tf.int32, block_size, element_shape=[None])
    _, _, rows = tf.while_loop(has_more, place, (0, free, rows))
    row = tf.reshape(rows.stack(), [-1])[:num_sequences]
    return tf.unique(row).idx
