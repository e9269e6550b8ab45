"""Random token masking, drawn again each time a row is read."""

import dataclasses
import math
from collections.abc import Callable

import tensorflow as tf

from keras_bert.corpus.packed_rows import Places, sequence_lengths
from keras_bert.messages import check_int, check_rate
from keras_bert.text.vocabulary import MASK


@dataclasses.dataclass(frozen=True)
class Masking:
    """Choice of the tokens to predict, and what stands in their place.

    Args as in `pretraining_dataset`.
    """

    sequence_length: int
    max_predictions: int | None = None
    masked_lm_rate: float = 0.15
    mask_token_rate: float = 0.8
    random_token_rate: float = 0.1
    whole_word_masking: bool = False
    left_to_right: bool = False

    def __post_init__(self):
        for name in ("masked_lm_rate", "mask_token_rate", "random_token_rate"):
            check_rate(name, getattr(self, name))
        total = self.mask_token_rate + self.random_token_rate
        check_rate("mask_token_rate + random_token_rate", total)
        if self.left_to_right:
            fields = dataclasses.fields(self)[1:-1]
            given = [field.name for field in fields if getattr(self, field.name) != field.default]
            if given:
                raise ValueError(f"left_to_right=True masks nothing: omit {', '.join(given)}.")
        check_int("max_predictions, by default masked_lm_rate of a sequence,", self.num_slots)

    @property
    def num_slots(self) -> int:
        """Prediction slots per row, P."""
        if self.left_to_right:
            return self.sequence_length - 2
        if self.max_predictions is None:
            return 4 * math.ceil(self.masked_lm_rate * self.sequence_length / 4)
        return self.max_predictions

    def num_predictions(self, first_length: tf.Tensor, second_length: tf.Tensor) -> tf.Tensor:
        """Counts the tokens to predict in sequences of these texts: all of their words at most.

        Google's `min(cap, max(1, round(rate * n)))`, where n includes special tokens. Halves round
        to even, as in Python.
        """
        words = first_length + second_length
        if self.left_to_right:
            return words
        lengths = tf.cast(sequence_lengths(first_length, second_length), tf.float64)
        rounded = tf.cast(tf.round(lengths * self.masked_lm_rate), tf.int32)
        counts = tf.clip_by_value(rounded, 1, self.num_slots)
        return tf.minimum(counts, words)

    def masked(
        self,
        token_ids: tf.Tensor,
        places: Places,
        counts: tf.Tensor,
        seed: tf.Tensor,
        vocabulary: list[str],
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
        """Masks written rows `[B, S]` with `counts` `[B, K]` predictions in their sequences.

        Returns `(masked ids, predictions)`: int32 `[B, S]`, and what `predictions` returns.
        """
        column = places.column
        is_candidate = (column > 0) & (column < places.last) & (column != places.middle)
        if self.left_to_right:
            positions, ids, weights = predictions(token_ids, is_candidate, self.num_slots)
            return token_ids, (tf.maximum(positions - 1, 0), ids, weights)
        seeds = tf.random.split(seed, 2)

        def choose(candidates, counts):
            if not self.whole_word_masking:
                return choose_tokens(candidates, counts, seeds[0])
            is_piece = tf.constant([token.startswith("##") for token in vocabulary])
            num_sequences = places.starts.shape[1]
            continues = tf.repeat(tf.gather(is_piece, token_ids), num_sequences, axis=0)
            return choose_words(candidates, continues, counts, seeds[0])

        chosen = in_each_sequence(choose, is_candidate, places.slot, counts)
        masked_ids = mask_tokens(token_ids, chosen, seeds[1], vocabulary, self)
        return masked_ids, predictions(token_ids, chosen, self.num_slots)


def in_each_sequence(
    choose: Callable,
    is_candidate: tf.Tensor,
    slot: tf.Tensor,
    counts: tf.Tensor,
) -> tf.Tensor:
    """Chooses tokens in each sequence of packed rows: bool `[B, S]`.

    `choose` does so in rows of one sequence: bool `[N, S]` candidates, int32 `[N]` counts. `slot`
    `[B, S]` is the sequence of each token, from 0; `counts` are `[B, K]`.
    """
    if counts.shape[1] == 1:
        return choose(is_candidate, counts[:, 0])
    count, length = counts.shape[1], is_candidate.shape[1]
    is_sequence = slot[:, None, :] == tf.range(count)[:, None]  # [B, K, S]
    candidates = is_candidate[:, None, :] & is_sequence
    candidates = tf.reshape(candidates, [-1, length])
    chosen = choose(candidates, tf.reshape(counts, [-1]))  # [B x K, S]
    chosen = tf.reshape(chosen, [-1, count, length])
    return tf.reduce_any(chosen, axis=1)


def choose_tokens(
    is_candidate: tf.Tensor,
    counts: tf.Tensor,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Chooses `counts` `[B]` of each row's candidate tokens at random: bool `[B, S]`."""
    keys = _random_order(is_candidate, seed)
    descending = tf.sort(keys, direction="DESCENDING")
    last = tf.maximum(counts, 1) - 1
    least = tf.gather(descending, last[:, None], batch_dims=1)  # [B, 1]
    return is_candidate & (keys >= least)


def choose_words(
    is_candidate: tf.Tensor,
    is_continuation: tf.Tensor,
    counts: tf.Tensor,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Chooses whole words at random, at most `counts` `[B]` tokens per row: bool `[B, S]`.

    Words are taken in random order; a word that would exceed the count is skipped. A token of
    `is_continuation` continues the previous candidate's word.
    """
    length = is_candidate.shape[1]
    candidates = tf.cast(is_candidate, tf.int32)
    is_first = tf.cumsum(candidates, axis=1) == 1
    begins = is_candidate & (is_first | ~is_continuation)
    num_begun = tf.cumsum(tf.cast(begins, tf.int32), axis=1)
    word = tf.maximum(num_begun - 1, 0)  # [B, S]
    batch = tf.shape(word)[0]
    row_starts = tf.range(batch)[:, None] * length
    word += row_starts  # of all rows
    sizes = tf.math.unsorted_segment_sum(candidates, word, batch * length)
    sizes = tf.reshape(sizes, [batch, length])  # [B, words]
    order = tf.argsort(_random_order(sizes > 0, seed), direction="DESCENDING")
    ordered = tf.gather(sizes, order, batch_dims=1)

    def fits(_, waiting, room):
        return tf.reduce_any(waiting & (ordered <= room))

    def take(taken, waiting, room):
        waiting &= ordered <= room
        total = tf.cumsum(tf.where(waiting, ordered, 0), axis=1)
        new = waiting & (total <= room)
        room -= tf.reduce_sum(tf.where(new, ordered, 0), axis=1, keepdims=True)
        return taken | new, waiting & ~new, room

    nothing = tf.zeros_like(ordered, tf.bool)
    taken, _, _ = tf.while_loop(fits, take, (nothing, ordered > 0, counts[:, None]))
    indices = tf.reshape(order + row_starts, [-1, 1])
    taken_words = tf.scatter_nd(indices, tf.reshape(taken, [-1]), [batch * length])
    return is_candidate & tf.gather(taken_words, word)


def mask_tokens(
    token_ids: tf.Tensor,
    chosen: tf.Tensor,
    seed: tf.Tensor,
    vocabulary: list[str],
    masking: Masking,
) -> tf.Tensor:
    """Masks the chosen tokens `[B, S]`: most become `[MASK]`, some a random word, the rest stay.

    Random words come from the whole vocabulary, as in Google's code.
    """
    seeds = tf.random.split(seed, 2)
    shape = tf.shape(token_ids)
    draw = tf.random.stateless_uniform(shape, seeds[0])
    words = tf.random.stateless_uniform(shape, seeds[1], 0, len(vocabulary), tf.int32)
    is_replaced = draw < masking.mask_token_rate + masking.random_token_rate
    replacement = tf.where(is_replaced, words, token_ids)
    is_masked = draw < masking.mask_token_rate
    replacement = tf.where(is_masked, vocabulary.index(MASK), replacement)
    return tf.where(chosen, replacement, token_ids)


def predictions(
    token_ids: tf.Tensor, chosen: tf.Tensor, max_predictions: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Lists the tokens to predict, at most P of the `chosen` ones in each row.

    Returns `(positions, ids, weights)`, `[B, P]` each. Positions ascend; unused slots follow, with
    position 0, id 0 and weight 0.
    """
    length = token_ids.shape[1]
    columns = tf.where(chosen, tf.range(length), length)
    positions = tf.sort(columns)[:, :max_predictions]
    used = positions < length  # [B, P]
    positions = tf.where(used, positions, 0)
    ids = tf.where(used, tf.gather(token_ids, positions, batch_dims=1), 0)
    return positions, ids, tf.cast(used, tf.float32)


def _random_order(eligible, seed):
    """Draws random keys `[B, S]`: distinct for eligible places of a row, -1 for all others."""
    keys = tf.random.stateless_uniform(tf.shape(eligible), seed, 0, 2**20, tf.int32)
    keys = keys * 2**11 + tf.range(tf.shape(eligible)[1])  # distinct in rows of at most 2,048
    return tf.where(eligible, keys, -1)
