"""Search for the best answers in each window."""

import tensorflow as tf

NO_SPAN = -1e30
"""The score of a missing span, lower than any real score."""


def best_spans(
    start_logits: tf.Tensor,
    end_logits: tf.Tensor,
    begins: tf.Tensor,
    in_context: tf.Tensor,
    *,
    max_answer_length: int,
    n_best: int,
) -> dict[str, tf.Tensor]:
    """Finds the spans of each window with the highest sums of start and end logits.

    A span starts at a token that may start an answer, ends at a token of the context, and has at
    most `max_answer_length` tokens. All such spans are compared. `write_predictions` of
    google-research/bert run_squad.py compares only spans between the best starts and ends.

    Args:
        start_logits: float32 `[N, S]`.
        end_logits: float32 `[N, S]`.
        begins: bool `[N, S]`, where an answer may start.
        in_context: bool `[N, S]`.
        max_answer_length: int, A tokens.
        n_best: int, K.

    Returns:
        A dict of `score`, float32 `[N, K]`, the highest first, padded with `NO_SPAN`; `start`
        and `end`, int32 `[N, K]`, positions of the first and the last token; and `total`, float32
        `[N]`, the logsumexp of the scores of all spans.
    """
    windows, length = tf.shape(start_logits)[0], tf.shape(start_logits)[1]
    start = tf.where(begins, start_logits, NO_SPAN)
    end = tf.where(in_context, end_logits, NO_SPAN)
    after = tf.pad(end, [[0, 0], [0, max_answer_length - 1]], constant_values=NO_SPAN)
    span_ends = tf.range(length)[:, None] + tf.range(max_answer_length)  # [S, A]
    scores = start[:, :, None] + tf.gather(after, span_ends, axis=1)  # [N, S, A]
    scores = tf.reshape(tf.maximum(scores, NO_SPAN), [windows, length * max_answer_length])
    n_best = tf.minimum(n_best, length * max_answer_length)
    best, index = tf.math.top_k(scores, n_best)
    begin = index // max_answer_length
    return {
        "score": best,
        "start": begin,
        "end": begin + index % max_answer_length,
        "total": tf.reduce_logsumexp(scores, axis=1),
    }
