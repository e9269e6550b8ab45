"""Rows of one or several sequences, written as token ids. R rows, K sequences, S tokens."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from keras_bert.corpus.pairs import TextPairs
from keras_bert.corpus.record_groups import RecordGroup
from keras_bert.text.vocabulary import CLS, SEP


def sequence_lengths(first_length: tf.Tensor, second_length: tf.Tensor) -> tf.Tensor:
    """Counts the tokens of sequences with their special tokens; 0 without text."""
    lengths = first_length + second_length + tf.where(second_length > 0, 3, 2)
    return tf.where(first_length > 0, lengths, 0)


@dataclasses.dataclass
class Places:
    """The place of each token in its sequence. All fields but the last are int32.

    For K = 1, `middle` and `last` are `[R, 1]`, the same for all tokens of a row.

    Attributes:
        lengths: `[R, K]`, tokens of each sequence, 0 in unused slots.
        starts: `[R, K]`, the position of each sequence's first token.
        slot: `[R, S]`, the sequence of each token, from 0; K at padding.
        column: `[R, S]`, the token's position in its sequence.
        middle: `[R, S]`, the position of the first [SEP] in the sequence.
        last: `[R, S]`, the position of the last token in the sequence.
        is_token: bool `[R, S]`, false at padding.
    """

    lengths: tf.Tensor
    starts: tf.Tensor
    slot: tf.Tensor
    column: tf.Tensor
    middle: tf.Tensor
    last: tf.Tensor
    is_token: tf.Tensor

    @classmethod
    def of(cls, first_length: tf.Tensor, second_length: tf.Tensor, sequence_length: int) -> Places:
        """Places sequences one after another, given the lengths of their texts, `[R, K]`."""
        lengths = sequence_lengths(first_length, second_length)
        ends = tf.cumsum(lengths, axis=1)
        starts = ends - lengths
        positions = tf.range(sequence_length)
        slot = tf.searchsorted(ends, tf.repeat(positions[None], tf.shape(ends)[0], 0), side="right")
        return cls(
            lengths=lengths,
            starts=starts,
            slot=slot,
            column=positions - at_slots(starts, slot),
            middle=at_slots(first_length, slot) + 1,
            last=at_slots(lengths, slot) - 1,
            is_token=positions < ends[:, -1:],
        )


def at_slots(values: tf.Tensor, slot: tf.Tensor) -> tf.Tensor:
    """Gathers sequences' values `[R, K]` for each token: `[R, S]`, or `[R, 1]` if K is 1."""
    if values.shape[1] == 1:  # much faster for rows that aren't packed
        return values
    return tf.gather(tf.pad(values, [[0, 0], [0, 1]]), slot, batch_dims=1)


def write_rows(
    group: RecordGroup, texts: TextPairs, places: Places, vocabulary: list[str]
) -> tf.Tensor:
    """Writes sequences as token ids: `[CLS] first [SEP] second [SEP]`, and 0 at padding.

    The fields of `texts` are `[R, K]`. Returns int32 `[R, S]`, not yet masked.
    """
    column, slot = places.column, places.slot
    position = tf.where(
        column < places.middle,
        at_slots(texts.first_start, slot) - 1 + column,
        at_slots(texts.second_start, slot) - 1 - places.middle + column,
    )  # [R, S]
    last = tf.size(group.token_ids) - 1
    token_ids = tf.gather(group.token_ids, tf.clip_by_value(position, 0, last))
    is_sep = (column == places.middle) | (column == places.last)
    token_ids = tf.where(is_sep, vocabulary.index(SEP), token_ids)
    token_ids = tf.where(column == 0, vocabulary.index(CLS), token_ids)
    return tf.where(places.is_token, token_ids, 0)
