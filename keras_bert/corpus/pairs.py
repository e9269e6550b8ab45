"""Sentence pairs of Google's `create_pretraining_data.py`, computed for a whole group at once.

Google loops over a document: it fills a chunk with sentences, turns it into a pair, and continues
after the chunk. This module computes the next step from *every* sentence of a group, as if a chunk
began there. The loop's own chunks are the ones reachable from the starts of the documents. The
result is a pure function of the group and a seed.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from keras_bert.corpus.record_groups import RecordGroup
from keras_bert.messages import check_int, check_rate


@dataclasses.dataclass(frozen=True)
class Pairing:
    """Choice of the texts of each sequence; args as in `pretraining_dataset`."""

    sequence_length: int
    next_sentence: bool = True
    short_sequence_rate: float = 0.1

    def __post_init__(self):
        least = 5 if self.next_sentence else 3
        check_int("sequence_length", self.sequence_length, least, 2048)
        check_rate("short_sequence_rate", self.short_sequence_rate)

    def plan(self, group: RecordGroup, seed: tf.Tensor) -> TextPairs:
        """Plans the texts of a group, truncated to fit, in its order."""
        seeds = tf.random.split(seed, 8)
        if self.next_sentence:
            return self._pairs(group, seeds)
        return self._single_texts(group, seeds)

    def _pairs(self, group, seeds):
        """Plans pairs of texts: some second texts follow the first one, some are random."""
        room = self.sequence_length - 3
        starts = group.sentence_starts
        sentences, record, record_end, target = self._chunks(group, room, seeds)

        # The chunk that would begin at each sentence, and the end of its first text.
        start = starts[:-1]
        end = _chunk_end(starts, sentences, start + target, record_end)
        size = end - sentences
        split = sentences + 1 + _random_below(size - 1, seeds[2])
        first_length = tf.gather(starts, split) - start
        chunk_length = tf.gather(starts, end) - start
        draw = tf.random.stateless_uniform(tf.shape(start), seeds[3])
        is_random = (draw < 0.5) | (size == 1)
        other_start, other_length, has_other = _random_texts(
            group, record, target - first_length, seeds[5]
        )
        is_random &= has_other
        rows = TextPairs(
            first_start=start,
            first_length=first_length,
            second_start=tf.where(is_random, other_start, start + first_length),
            second_length=tf.where(is_random, other_length, chunk_length - first_length),
            is_random=tf.cast(is_random, tf.int32),
        )
        # As in Google's loop, the next chunk reuses the sentences that a random text displaced.
        following = tf.where(is_random, split, end)
        is_chosen = _reachable(group, following, record_end) & (rows.second_length > 0)
        chosen = tf.where(is_chosen)[:, 0]
        return _truncated(rows.take(chosen), room, seeds[6])

    def _single_texts(self, group, seeds):
        """Plans single texts of whole sentences; cuts a sentence longer than a row at its end."""
        room = self.sequence_length - 2
        starts = group.sentence_starts
        sentences, _, record_end, target = self._chunks(group, room, seeds)
        start = starts[:-1]
        end = _chunk_end(starts, sentences, start + target + 1, record_end + 1) - 1
        end = tf.maximum(end, sentences + 1)
        length = tf.minimum(tf.gather(starts, end) - start, target)
        nothing = tf.zeros_like(start)
        rows = TextPairs(start, length, nothing, nothing, nothing)
        chosen = tf.where(_reachable(group, end, record_end))[:, 0]
        return rows.take(chosen)

    def _chunks(self, group, room, seeds):
        """Returns each sentence's index, record, end of the record, and the length of its chunk.

        The length is drawn for each record; Google draws one per document.
        """
        sentences = tf.range(tf.size(group.sentence_starts) - 1)
        record = tf.searchsorted(group.record_starts, sentences, side="right") - 1
        record_end = tf.gather(group.record_starts, record + 1)
        shape = tf.shape(group.document_ids)
        short = tf.random.stateless_uniform(shape, seeds[0], 2, room + 1, tf.int32)
        is_short = tf.random.stateless_uniform(shape, seeds[1]) < self.short_sequence_rate
        targets = tf.where(is_short, short, room)
        return sentences, record, record_end, tf.gather(targets, record)


class TextPairs(NamedTuple):
    """Texts of n sequences, as token positions in a `RecordGroup`. All fields are int32 `[n]`.

    `second_length` is 0 if there is only one text. `is_random` is 1 if the second text comes from
    another document.
    """

    first_start: tf.Tensor
    first_length: tf.Tensor
    second_start: tf.Tensor
    second_length: tf.Tensor
    is_random: tf.Tensor

    def take(self, indices: tf.Tensor) -> TextPairs:
        """Gathers sequences by index, in any shape; -1 gives lengths of 0."""

        def gathered(field):
            padded = tf.pad(field, [[1, 0]])
            return tf.gather(padded, indices + 1)

        return TextPairs(*map(gathered, self))


def _chunk_end(starts, first, goal, record_end):
    """Finds the index after the sentence that reaches token `goal`, up to the record's end."""
    end = tf.maximum(tf.searchsorted(starts, goal), first + 1)
    return tf.minimum(end, record_end)


def _random_texts(group, record, target, seed):
    """Draws a text of about `target` tokens from another document, for each sentence."""
    seeds = tf.random.split(seed, 2)
    starts = group.sentence_starts
    order = tf.argsort(group.document_ids, stable=True)  # [R]
    ids = tf.gather(group.document_ids, order)
    same_start = tf.searchsorted(ids, group.document_ids)  # of the records of a document
    same_end = tf.searchsorted(ids, group.document_ids, side="right")
    num_same = tf.gather(same_end - same_start, record)
    num_others = tf.size(order) - num_same
    place = _random_below(num_others, seeds[0])  # in the order without the same document
    place = tf.where(place < tf.gather(same_start, record), place, place + num_same)
    other = tf.gather(order, tf.minimum(place, tf.size(order) - 1))
    begin = tf.gather(group.record_starts, other)
    end = tf.gather(group.record_starts, other + 1)
    first = begin + _random_below(end - begin, seeds[1])
    other_start = tf.gather(starts, first)
    last = _chunk_end(starts, first, other_start + target, end)
    return other_start, tf.gather(starts, last) - other_start, num_others > 0


def _reachable(group, following, record_end):
    """Marks the sentences that a walk along `following` visits from the start of every record.

    `following` `[M]` is the next sentence of the walk, which ends with the record. Its reach
    doubles in each iteration: `jump` leads 1, 2, 4, ... steps ahead, until it exceeds the longest
    record.
    """
    num_sentences = tf.size(following)
    following = tf.where(following < record_end, following, num_sentences)
    jump = tf.concat([following, [num_sentences]], axis=0)  # [M + 1]
    counts = tf.math.bincount(group.record_starts, minlength=num_sentences + 1)
    visited = tf.minimum(counts, 1)  # [M + 1]
    record_sizes = group.record_starts[1:] - group.record_starts[:-1]
    longest = tf.reduce_max(record_sizes)

    def step(distance, visited, jump):
        landed = tf.math.unsorted_segment_max(visited, jump, num_sentences + 1)
        visited = tf.maximum(visited, landed)
        return distance * 2, visited, tf.gather(jump, jump)

    def is_short(distance, visited, jump):
        return distance <= longest

    _, visited, _ = tf.while_loop(is_short, step, (1, visited, jump))
    return visited[:-1] > 0


def _truncated(rows, room, seed):
    """Truncates pairs to `room` tokens.

    Equivalent to Google's loop, which removes one token at a time from a random end of the longer
    text, or of the second one on ties.
    """
    first = rows.first_length
    second = rows.second_length
    surplus = tf.maximum(first + second - room, 0)
    level = tf.minimum(surplus, tf.abs(first - second))  # until the lengths are equal
    half = (surplus - level) // 2
    from_first = half + tf.where(first > second, level, 0)
    from_second = surplus - from_first
    seeds = tf.random.split(seed, 2)
    return rows._replace(
        first_start=rows.first_start + _coin_tosses(from_first, seeds[0]),
        first_length=first - from_first,
        second_start=rows.second_start + _coin_tosses(from_second, seeds[1]),
        second_length=second - from_second,
    )


def _coin_tosses(counts, seed):
    tosses = tf.cast(counts, tf.float32)
    return tf.random.stateless_binomial(tf.shape(counts), seed, tosses, 0.5, tf.int32)


def _random_below(limits, seed):
    """Draws integers from 0 up to limits; 0 for a limit of 0."""
    uniform = tf.random.stateless_uniform(tf.shape(limits), seed, dtype=tf.float64)
    return tf.cast(uniform * tf.cast(limits, tf.float64), tf.int32)
