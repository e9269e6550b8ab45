"""Search for answers in the logits of question windows, in the TensorFlow graph.

B questions, N windows, K best spans of a window.
"""

import tensorflow as tf

from keras_bert.preprocessing.best_spans import NO_SPAN, best_spans
from keras_bert.preprocessing.byte_spans import byte_spans, character_positions
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.question_windows import QuestionWindows

_WINDOWS = 32  # windows compared at once: [32, S x the longest answer] scores


@in_graph
def span_answers(
    windows: QuestionWindows,
    outputs: dict[str, tf.Tensor],
    *,
    max_answer_length: int,
    null_threshold: float | None,
    n_best: int = 1,
) -> dict[str, tf.Tensor | tf.RaggedTensor]:
    """Finds the best answer to each question among the spans of all of its windows.

    Args:
        windows: the `QuestionWindows` of the questions.
        outputs: a dict of `start` and `end`, logits `[N, S]`.
        max_answer_length: int, tokens.
        null_threshold: float, or None; see `BertSpanLabelerPreprocessor`.
        n_best: int, K.

    Returns:
        A dict of `[B]` tensors, `answer`, `start`, `end`, `start_byte`, `end_byte`, `score` and
        `null_odds`; with `n_best` above 1 also the `n_best_...` tensors, ragged `[B, (spans)]`,
        the best first. `BertSpanLabelerPreprocessor.answers` documents them.
    """
    found = _spans_of_windows(windows, outputs, max_answer_length, n_best)
    question, number = windows.question, tf.shape(windows.context, out_type=tf.int64)[0]
    rows = tf.range(tf.shape(question, tf.int64)[0])
    best_of_window = found["score"][:, 0]
    best = tf.math.unsorted_segment_max(best_of_window, question, number)  # [B]
    is_best = best_of_window == tf.gather(best, question)
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
        tf.where(is_null, tf.zeros([], tf.int64), tf.gather(found[name][:, 0], row))
        for name in ("start", "end")
    )
    answers = {
        **_in_words(windows, tf.range(number), start, end),
        "start_byte": start,
        "end_byte": end,
        "score": tf.exp(tf.where(is_null, null, best) - total),
        "null_odds": odds,
    }
    if n_best > 1:
        nulls = _null_spans(found, null, question, number)
        spans = _sorted_spans(found, nulls, question, number, null_threshold is not None)
        answers |= _n_best(windows, spans, total, n_best)
    return answers


def _spans_of_windows(windows, outputs, max_answer_length, n_best):
    """Finds each window's best spans in bytes, with their logits and the "no answer" score."""
    number = tf.shape(windows.question, tf.int64)[0]
    length = tf.shape(outputs["start"], tf.int64)[1]
    places = windows.places(length)
    size = tf.clip_by_value(number, 1, _WINDOWS)

    def some(first):
        rows = tf.minimum(first + tf.range(size), number - 1)
        start, end = (tf.gather(outputs[name], rows) for name in ("start", "end"))
        spans = best_spans(
            start,
            end,
            tf.gather(places["begins"], rows),
            tf.gather(places["in_context"], rows),
            max_answer_length=max_answer_length,
            n_best=n_best,
        )
        last = tf.minimum(tf.cast(spans["end"], tf.int64), length - 1)  # past the end if no span
        return {
            "score": spans["score"],
            "total": spans["total"],
            "null": start[:, 0] + end[:, 0],
            "null_logits": tf.stack([start[:, 0], end[:, 0]], axis=1),
            "start": tf.gather(tf.gather(places["starts"], rows), spans["start"], batch_dims=1),
            "end": tf.gather(tf.gather(places["ends"], rows), last, batch_dims=1),
            "start_logit": tf.gather(start, spans["start"], batch_dims=1),
            "end_logit": tf.gather(end, last, batch_dims=1),
        }

    spans = dict.fromkeys(("score", "start_logit", "end_logit"), (tf.float32, [None, None]))
    spans |= dict.fromkeys(("start", "end"), (tf.int64, [None, None]))
    spans |= dict.fromkeys(("total", "null"), (tf.float32, [None]))
    spans["null_logits"] = (tf.float32, [None, 2])
    found = tf.map_fn(
        some,
        tf.range(0, number, size),
        fn_output_signature={name: tf.TensorSpec(shape, d) for name, (d, shape) in spans.items()},
        parallel_iterations=1,
    )
    return {
        name: tf.reshape(values, tf.concat([[-1], tf.shape(values)[2:]], axis=0))[:number]
        for name, values in found.items()
    }


def _in_words(windows, question, start, end):
    """Converts byte spans in questions' contexts to `answer`, and `start`, `end` in characters."""
    context = tf.gather(windows.context, question)
    return {
        "answer": byte_spans(windows.contexts, context, start, end),
        "start": character_positions(windows.contexts, context, start),
        "end": character_positions(windows.contexts, context, end),
    }


def _null_spans(found, null, question, number):
    """Makes a "no answer" span for each question, from the window where it scores lowest."""
    rows = tf.range(tf.shape(question, tf.int64)[0])
    is_lowest = found["null"] == tf.gather(null, question)
    row = tf.math.unsorted_segment_min(rows, tf.where(is_lowest, question, -1), number)
    logits = tf.gather(found["null_logits"], row)
    zeros = tf.zeros([number], tf.int64)
    return {
        "question": tf.range(number),
        "score": null,
        "start": zeros,
        "end": zeros,
        "start_logit": logits[:, 0],
        "end_logit": logits[:, 1],
    }


def _sorted_spans(found, nulls, question, number, may_be_null):
    """Sorts all spans of each question, the best first, with "no answer" if it may have none."""
    names = ("score", "start", "end", "start_logit", "end_logit")
    width = tf.shape(found["score"])[1]
    spans = {name: tf.reshape(found[name], [-1]) for name in names}
    spans["question"] = tf.repeat(question, width)
    is_span = spans["score"] > NO_SPAN
    spans = {name: tf.boolean_mask(values, is_span) for name, values in spans.items()}
    counts = tf.math.unsorted_segment_sum(
        tf.ones_like(spans["question"]), spans["question"], number
    )
    is_listed = tf.fill([number], True) if may_be_null else counts == 0
    nulls = {name: tf.boolean_mask(values, is_listed) for name, values in nulls.items()}
    spans = {name: tf.concat([spans[name], nulls[name]], axis=0) for name in spans}
    by_score = tf.argsort(spans["score"], direction="DESCENDING", stable=True)
    order = tf.gather(by_score, tf.argsort(tf.gather(spans["question"], by_score), stable=True))
    return {name: tf.gather(values, order) for name, values in spans.items()}


def _n_best(windows, spans, total, n_best):
    """Returns the best spans of each question without repeated texts, ragged `[B, (n_best)]`."""
    question, number = spans["question"], tf.size(total, tf.int64)
    words = _in_words(windows, question, spans["start"], spans["end"])
    logits = {name: spans[name] for name in ("start_logit", "end_logit")}
    score = tf.exp(spans["score"] - tf.gather(total, question))
    found = {**words, "score": score, **logits}
    texts = tf.strings.join([tf.strings.as_string(question), words["answer"]], separator=" ")
    _, text = tf.unique(texts, tf.int64)
    place = tf.range(tf.size(text, tf.int64))
    first = tf.math.unsorted_segment_min(place, text, tf.reduce_max(text) + 1)  # ascending
    question = tf.gather(question, first)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(question), question, number)
    rank = tf.range(tf.size(first, tf.int64)) - tf.repeat(tf.cumsum(counts, exclusive=True), counts)
    kept = tf.boolean_mask(first, rank < n_best)
    rows = tf.gather(spans["question"], kept)
    return {
        f"n_best_{name}": tf.RaggedTensor.from_value_rowids(
            tf.gather(values, kept), rows, nrows=number, validate=False
        )
        for name, values in found.items()
    }
