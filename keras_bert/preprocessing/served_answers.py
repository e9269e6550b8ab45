"""Answers to questions in the TensorFlow graph: what an exported model says."""

import tensorflow as tf

from keras_bert.preprocessing.best_spans import NO_SPAN, best_spans
from keras_bert.preprocessing.byte_spans import character_positions

_WINDOWS = 32  # that the model takes at once: a context of any length needs no more memory


def served_answers(windows, context, logits_of, *, max_answer_length, null_threshold):
    """The best answer to each question, as `answers_of` finds it.

    Args:
        windows: the `QuestionWindows` of the questions, each with a context of its own.
        context: string `[B]`.
        logits_of: a callable that gives the `start` and `end` logits of a dict of inputs.
        max_answer_length: int, tokens.
        null_threshold: float, or None.

    Returns:
        A dict of `[B]` tensors; see `BertSpanLabeler.answer_questions`.
    """
    found = _best_of_windows(windows, logits_of, max_answer_length)
    question, number = windows.question, tf.shape(context, tf.int64)[0]
    rows = tf.range(tf.shape(question, tf.int64)[0])
    best = tf.math.unsorted_segment_max(found["score"], question, number)  # [B]
    is_best = found["score"] == tf.gather(best, question)
    row = tf.math.unsorted_segment_min(rows, tf.where(is_best, question, -1), number)
    null = tf.math.unsorted_segment_min(found["null"], question, number)
    highest = tf.math.unsorted_segment_max(found["total"], question, number)
    shares = tf.exp(found["total"] - tf.gather(highest, question))
    total = highest + tf.math.log(tf.math.unsorted_segment_sum(shares, question, number))
    is_answered = best > NO_SPAN
    odds = tf.where(is_answered, null - best, null)
    is_null = ~is_answered
    if null_threshold is not None:
        total = tf.reduce_logsumexp(tf.stack([total, null]), axis=0)
        is_null |= odds > null_threshold
    total = tf.where(is_answered, total, null)
    start, end = (
        tf.where(is_null, tf.zeros([], tf.int64), tf.gather(found[name], row))
        for name in ("start", "end")
    )
    texts = tf.range(number)
    return {
        "answer": tf.strings.substr(context, start, end - start),
        "start": character_positions(context, texts, start),
        "end": character_positions(context, texts, end),
        "start_byte": start,
        "end_byte": end,
        "score": tf.exp(tf.where(is_null, null, best) - total),
        "null_odds": odds,
    }


def _best_of_windows(windows, logits_of, max_answer_length):
    """The best span of each window in bytes, the sum over all, and the score of none; `[N]`."""
    number = tf.shape(windows.question, tf.int64)[0]
    longest = tf.reduce_max(windows.context_positions() + windows.length) + 1  # [SEP]
    longest = tf.maximum(longest, 1)  # also where there are no questions
    places = windows.places(longest)
    size = tf.clip_by_value(number, 1, _WINDOWS)

    def some(first):
        rows = tf.minimum(first + tf.range(size), number - 1)
        inputs = {name: values[:, :longest] for name, values in windows.inputs(rows).items()}
        logits = logits_of(inputs)
        spans = best_spans(
            logits["start"],
            logits["end"],
            tf.gather(places["begins"], rows),
            tf.gather(places["in_context"], rows),
            max_answer_length=max_answer_length,
            n_best=1,
        )
        last = tf.minimum(tf.cast(spans["end"][:, 0], tf.int64), longest - 1)
        first_token = tf.cast(spans["start"][:, 0], tf.int64)
        return {
            "score": spans["score"][:, 0],
            "total": spans["total"],
            "null": logits["start"][:, 0] + logits["end"][:, 0],
            "start": tf.gather_nd(places["starts"], tf.stack([rows, first_token], axis=1)),
            "end": tf.gather_nd(places["ends"], tf.stack([rows, last], axis=1)),
        }

    kinds = {"score": tf.float32, "total": tf.float32, "null": tf.float32}
    kinds |= {"start": tf.int64, "end": tf.int64}
    found = tf.map_fn(
        some,
        tf.range(0, number, size),
        fn_output_signature={name: tf.TensorSpec([None], kind) for name, kind in kinds.items()},
        parallel_iterations=1,
    )
    return {name: tf.reshape(values, [-1])[:number] for name, values in found.items()}
