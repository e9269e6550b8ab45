"""Random token masking, drawn again each time a row is read."""

import dataclasses
import math

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

    def __post_init__(self):
        for name in ("masked_lm_rate", "mask_token_rate", "random_token_rate"):
            check_rate(name, getattr(self, name))
        total = self.mask_token_rate + self.random_token_rate
        check_rate("mask_token_rate + random_token_rate", total)
        check_int("max_predictions, by default masked_lm_rate of a sequence,", self.num_slots)

    @property
    def num_slots(self) -> int:
        """Prediction slots per row, P."""
        if self.max_predictions is None:
            return 4 * math.ceil(self.masked_lm_rate * self.sequence_length / 4)
        return self.max_predictions

    def num_predictions(self, first_length: tf.Tensor, second_length: tf.Tensor) -> tf.Tensor:
        """Counts the tokens to predict in sequences of these texts: all of their words at most.

        Google's `min(cap, max(1, round(rate * n)))`, where n includes special tokens. Halves round
        to even, as in Python.
        """
        lengths = tf.cast(sequence_lengths(first_length, second_length), tf.float64)
        counts = tf.round(lengths * self.masked_lm_rate)
        counts = tf.clip_by_value(tf.cast(counts, tf.int32), 1, self.num_slots)
        return tf.minimum(counts, first_length + second_length)

    def masked(
        self,
        token_ids: tf.Tensor,
        places: Places,
        counts: tf.Tensor,
        seed: tf.Tensor,
        vocabulary: list[str],
    ) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
        """Masks written rows `[B, S]` with `counts` `[B, K]` predictions in their sequences.

        Returns `(masked ids, predictions)`: int32 `[B, S]`, and what `_predictions` returns.
        """
        column = places.column
        is_candidate = (column > 0) & (column < places.last) & (column != places.middle)
        length = token_ids.shape[1]
        num_sequences = counts.shape[1]
        seeds = tf.random.split(seed, 2)
        sequences = tf.range(num_sequences)[:, None]
        is_sequence = places.slot[:, None] == sequences  # [B, K, S]
        candidates = is_candidate[:, None] & is_sequence
        # Tokens are chosen in rows of one sequence each, N = B x K.
        candidates = tf.reshape(candidates, [-1, length])
        counts = tf.reshape(counts, [-1])
        if self.whole_word_masking:
            is_piece = tf.constant([token.startswith("##") for token in vocabulary])
            continues = tf.gather(is_piece, token_ids)
            continues = tf.repeat(continues, num_sequences, axis=0)
            chosen = _choose_words(candidates, continues, counts, seeds[0])
        else:
            chosen = _choose_tokens(candidates, counts, seeds[0])
        chosen = tf.reshape(chosen, [-1, num_sequences, length])
        chosen = tf.reduce_any(chosen, axis=1)  # [B, S]
        masked_ids = self._with_replacements(token_ids, chosen, seeds[1], vocabulary)
        return masked_ids, _predictions(token_ids, chosen, self.num_slots)

    def _with_replacements(self, token_ids, chosen, seed, vocabulary):
        """Masks the chosen tokens `[B, S]`: most become [MASK], some a random word, the rest stay.

        Random words come from the whole vocabulary, as in Google's code.
        """
        seeds = tf.random.split(seed, 2)
        shape = tf.shape(token_ids)
        draw = tf.random.stateless_uniform(shape, seeds[0])
        words = tf.random.stateless_uniform(shape, seeds[1], 0, len(vocabulary), tf.int32)
        is_replaced = draw < self.mask_token_rate + self.random_token_rate
        replacement = tf.where(is_replaced, words, token_ids)
        is_masked = draw < self.mask_token_rate
        replacement = tf.where(is_masked, vocabulary.index(MASK), replacement)
        return tf.where(chosen, replacement, token_ids)


def _choose_tokens(is_candidate, counts, seed):
    """Chooses `counts` `[N]` of each row's candidate tokens at random: bool `[N, S]`."""
    keys = _random_order(is_candidate, seed)
    descending = tf.sort(keys, direction="DESCENDING")
    last = tf.maximum(counts, 1) - 1
    least = tf.gather(descending, last[:, None], batch_dims=1)  # [N, 1]
    return is_candidate & (keys >= least)


def _choose_words(is_candidate, is_continuation, counts, seed):
    """Chooses whole words at random, at most `counts` `[N]` tokens per row: bool `[N, S]`.

    Words are taken in random order; a word that would exceed the count is skipped. A token of
    `is_continuation` continues the previous candidate's word.
    """
    candidates = tf.cast(is_candidate, tf.int32)
    is_first = tf.cumsum(candidates, axis=1) == 1
    begins = is_candidate & (is_first | ~is_continuation)
    num_begun = tf.cumsum(tf.cast(begins, tf.int32), axis=1)
    word = tf.maximum(num_begun - 1, 0)  # [N, S]
    sizes = _sums(word, candidates)  # [N, words]

    order = tf.argsort(_random_order(sizes > 0, seed), direction="DESCENDING")
    taken = _first_that_fit(tf.gather(sizes, order, batch_dims=1), counts)
    is_taken = _sums(order, tf.cast(taken, tf.int32)) > 0  # [N, words]
    return is_candidate & tf.gather(is_taken, word, batch_dims=1)


def _sums(indices, values):
    """Adds the values of a row that have the same index below S: `[N, S]`."""
    length = indices.shape[1]
    return tf.math.bincount(indices, values, minlength=length, maxlength=length, axis=-1)


def _first_that_fit(sizes, counts):
    """Takes one word after another, unless it exceeds the row's count: bool `[N, words]`.

    Each iteration takes all words up to the next that doesn't fit, and skips those too large.
    """

    def has_more(_, waiting, room):
        return tf.reduce_any(waiting & (sizes <= room))

    def take(taken, waiting, room):
        waiting &= sizes <= room
        total = tf.cumsum(tf.where(waiting, sizes, 0), axis=1)
        new = waiting & (total <= room)
        taken_sizes = tf.where(new, sizes, 0)
        room -= tf.reduce_sum(taken_sizes, axis=1, keepdims=True)
        return taken | new, waiting & ~new, room

    nothing = tf.zeros_like(sizes, tf.bool)
    taken, _, _ = tf.while_loop(has_more, take, (nothing, sizes > 0, counts[:, None]))
    return taken


def _predictions(token_ids, chosen, num_slots):
    """Lists the tokens to predict, at most P of the `chosen` ones in each row.

    Returns `(positions, ids, weights)`, `[B, P]` each. Positions ascend; unused slots follow, with
    position 0, id 0 and weight 0.
    """
    length = token_ids.shape[1]
    columns = tf.where(chosen, tf.range(length), length)
    positions = tf.sort(columns)[:, :num_slots]
    is_used = positions < length  # [B, P]
    positions = tf.where(is_used, positions, 0)
    ids = tf.gather(token_ids, positions, batch_dims=1)
    return positions, tf.where(is_used, ids, 0), tf.cast(is_used, tf.float32)


def _random_order(eligible, seed):
    """Draws random keys `[B, S]`: distinct for eligible places of a row, -1 for all others."""
    keys = tf.random.stateless_uniform(tf.shape(eligible), seed, 0, 2**20, tf.int32)
    keys = keys * 2**11 + tf.range(tf.shape(eligible)[1])  # distinct in rows of at most 2,048
    return tf.where(eligible, keys, -1)
