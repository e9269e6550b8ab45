"""Random token masking, drawn again each time a row is read."""

from collections.abc import Callable

import tensorflow as tf


def num_predictions(lengths: tf.Tensor, rate: float, max_predictions: int) -> tf.Tensor:
    """Counts the tokens to predict in each sequence: Google's min(cap, max(1, round(rate * n))).

    `lengths`, of any shape, include special tokens. Halves round to even, as in Python.
    """
    rounded = tf.cast(tf.round(tf.cast(lengths, tf.float64) * rate), tf.int32)
    return tf.minimum(tf.maximum(rounded, 1), max_predictions)


def in_each_sequence(
    choose: Callable, is_candidate: tf.Tensor, slot: tf.Tensor, counts: tf.Tensor
) -> tf.Tensor:
    """Chooses tokens in each sequence of packed rows: bool `[B, S]`.

    Args:
        choose: a function from bool `[N, S]` candidates and int32 `[N]` counts to bool `[N, S]`.
        is_candidate: bool `[B, S]`.
        slot: int32 `[B, S]`, the sequence of each token, from 0.
        counts: int32 `[B, K]`.
    """
    if counts.shape[1] == 1:
        return choose(is_candidate, counts[:, 0])
    count, length = counts.shape[1], is_candidate.shape[1]
    is_own = slot[:, None, :] == tf.range(count)[:, None]  # [B, K, S]
    candidates = tf.reshape(is_candidate[:, None, :] & is_own, [-1, length])
    chosen = choose(candidates, tf.reshape(counts, [-1]))  # [B x K, S]
    return tf.reduce_any(tf.reshape(chosen, [-1, count, length]), axis=1)


def choose_tokens(is_candidate: tf.Tensor, counts: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Chooses `counts` `[B]` of each row's candidate tokens at random: bool `[B, S]`."""
    keys = _random_order(is_candidate, seed)
    sorted_keys = tf.sort(keys, direction="DESCENDING")
    least = tf.gather(sorted_keys, tf.maximum(counts[:, None], 1) - 1, batch_dims=1)  # [B, 1]
    return is_candidate & (keys >= least)


def choose_words(
    is_candidate: tf.Tensor, is_continuation: tf.Tensor, counts: tf.Tensor, seed: tf.Tensor
) -> tf.Tensor:
    """Chooses whole words at random, at most `counts` tokens per row: bool `[B, S]`.

    Words are taken in random order; a word that would exceed the count is skipped.

    Args:
        is_candidate: bool `[B, S]`.
        is_continuation: bool `[B, S]`, whether a token continues the previous candidate's word.
        counts: int32 `[B]`.
        seed: int `[2]`, a stateless seed.
    """
    length = is_candidate.shape[1]
    is_first = tf.cumsum(tf.cast(is_candidate, tf.int32), axis=1) == 1
    begins = is_candidate & (is_first | ~is_continuation)
    word = tf.maximum(tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1, 0)  # [B, S]
    batch = tf.shape(word)[0]
    row = tf.range(batch)[:, None] * length
    sizes = tf.math.unsorted_segment_sum(
        tf.cast(is_candidate, tf.int32), word + row, batch * length
    )
    sizes = tf.reshape(sizes, [batch, length])  # [B, words]
    order = tf.argsort(_random_order(sizes > 0, seed), direction="DESCENDING")
    ordered = tf.gather(sizes, order, batch_dims=1)

    def fits(_, waiting, room):
        return tf.reduce_any(waiting & (ordered <= room))

    def take(taken, waiting, room):
        waiting &= ordered <= room
        now = waiting & (tf.cumsum(tf.where(waiting, ordered, 0), axis=1) <= room)
        room -= tf.reduce_sum(tf.where(now, ordered, 0), axis=1, keepdims=True)
        return taken | now, waiting & ~now, room

    taken, _, _ = tf.while_loop(
        fits, take, (tf.zeros_like(ordered, tf.bool), ordered > 0, counts[:, None])
    )
    taken_words = tf.scatter_nd(
        tf.reshape(order + row, [-1, 1]), tf.reshape(taken, [-1]), [batch * length]
    )
    return is_candidate & tf.gather(taken_words, word + row)


def mask_tokens(
    token_ids: tf.Tensor,
    chosen: tf.Tensor,
    seed: tf.Tensor,
    *,
    mask_token_id: int,
    vocabulary_size: int,
    mask_token_rate: float = 0.8,
    random_token_rate: float = 0.1,
) -> tf.Tensor:
    """Masks the chosen tokens: most become `[MASK]`, some a random word, the rest stay.

    Random words come from the whole vocabulary, as in Google's code.

    Args:
        token_ids: int32 `[B, S]`.
        chosen: bool `[B, S]`.
        seed: int `[2]`, a stateless seed.
        mask_token_id: int.
        vocabulary_size: int.
        mask_token_rate: float, the fraction of chosen tokens that become `[MASK]`.
        random_token_rate: float, the fraction that become a random word.

    Returns:
        `masked_ids`, int32 `[B, S]`.
    """
    seeds = tf.random.split(seed, 2)
    draw = tf.random.stateless_uniform(tf.shape(token_ids), seeds[0])
    words = tf.random.stateless_uniform(tf.shape(token_ids), seeds[1], 0, vocabulary_size, tf.int32)
    replacement = tf.where(draw < mask_token_rate + random_token_rate, words, token_ids)
    replacement = tf.where(draw < mask_token_rate, mask_token_id, replacement)
    return tf.where(chosen, replacement, token_ids)


def predictions(
    token_ids: tf.Tensor, chosen: tf.Tensor, max_predictions: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Lists the tokens to predict.

    Args:
        token_ids: int32 `[B, S]`, not masked.
        chosen: bool `[B, S]`, at most `max_predictions` per row.
        max_predictions: int, P.

    Returns:
        `(positions, ids, weights)`, `[B, P]` each. Positions ascend; unused slots follow, with
        position 0, id 0 and weight 0.
    """
    length = token_ids.shape[1]
    places = tf.sort(tf.where(chosen, tf.range(length)[None, :], length))[:, :max_predictions]
    used = places < length  # [B, P]
    positions = tf.where(used, places, 0)
    ids = tf.where(used, tf.gather(token_ids, positions, batch_dims=1), 0)
    return positions, ids, tf.cast(used, tf.float32)


def _random_order(eligible, seed):
    """Draws random keys `[B, S]`: distinct for eligible places of a row, -1 for all others."""
    keys = tf.random.stateless_uniform(tf.shape(eligible), seed, 0, 2**20, tf.int32)
    keys = keys * 2**11 + tf.range(tf.shape(eligible)[1])  # distinct in rows of at most 2,048
    return tf.where(eligible, keys, -1)
