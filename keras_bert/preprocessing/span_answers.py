"""Search for answers in the logits of question windows.

B questions, N windows, S sequence, K best spans of a window, A tokens of the longest answer.
"""

from typing import Any

import numpy as np

from keras_bert.preprocessing.question_windows import QuestionWindows
from keras_bert.text import numpy_ops

NO_SPAN = -1e30
"""The score of a missing span, lower than any real score."""

_WINDOWS = 32  # windows compared at once: [32, S x A] scores


def span_answers(
    windows: QuestionWindows,
    outputs: dict[str, Any],
    max_answer_length: int,
    null_threshold: float | None,
    n_best: int,
) -> dict[str, Any]:
    """Finds the best answer to each question among the spans of all of its windows.

    `outputs` are logits `start` and `end`, `[N, S]`, A is `max_answer_length`, K is `n_best`.
    `BertSpanLabelerPreprocessor.answers` documents the values.
    """
    ops = windows.ops
    question = windows.question
    num_questions = ops.num_rows(windows.context)
    spans = _spans_of_windows(windows, outputs, max_answer_length, n_best)
    best_of_window = spans["score"][:, 0]
    best = ops.segment_max(best_of_window, question, num_questions)  # [B]
    best_window = _first_window(best_of_window, best, question, ops)
    null = ops.segment_min(spans["null"], question, num_questions)
    total = _segment_logsumexp(spans["total"], question, num_questions, ops)
    is_answered = best > NO_SPAN
    odds = ops.where(is_answered, null - best, null)
    is_null = ~is_answered
    if null_threshold is not None:
        totals = ops.stack([total, null], axis=1)
        total = ops.logsumexp(totals)
        is_null |= odds > null_threshold
    total = ops.where(is_answered, total, null)
    start = ops.take(spans["start"][:, 0], best_window)
    start = ops.where(is_null, 0, start)
    end = ops.take(spans["end"][:, 0], best_window)
    end = ops.where(is_null, 0, end)
    best = ops.where(is_null, null, best)
    texts = windows.contexts.texts
    answers = {"answer": ops.substrings(texts, windows.context, start, end)}
    answers |= ops.text_spans(texts, windows.context, start, end)
    answers["score"] = ops.exp(best - total)
    answers["null_odds"] = odds
    if n_best > 1:
        may_be_null = null_threshold is not None
        answers |= _n_best(windows, outputs, spans, null, total, n_best, may_be_null)
    return answers


def _spans_of_windows(
    windows: QuestionWindows, outputs: dict[str, Any], max_answer_length: int, n_best: int
) -> dict[str, Any]:
    """Finds each window's best spans, and its "no answer".

    Returns `_best_spans`; `start` and `end`, int64 `[N, K]`, their characters; and `null`, float32
    `[N]`, the score of "no answer".
    """
    ops = windows.ops
    tokens = outputs | windows.places(ops.num_columns(outputs["start"]))  # [N, S] each

    def spans_of_block(rows):
        block = {name: ops.take(values, rows) for name, values in tokens.items()}
        spans = _best_spans(block, max_answer_length, n_best, ops)
        spans["start"] = ops.take_along_axis(block["starts"], spans["first"])
        spans["end"] = ops.take_along_axis(block["ends"], spans["last"])
        return spans

    specs = dict.fromkeys(("first", "last", "start", "end"), ("int64", [None]))
    specs["score"] = ("float32", [None])
    specs["total"] = ("float32", [])
    spans = ops.map_blocks(spans_of_block, ops.num_rows(windows.question), _WINDOWS, specs)
    spans["null"] = outputs["start"][:, 0] + outputs["end"][:, 0]
    return spans


def _best_spans(tokens, max_answer_length, n_best, ops):
    """Finds the spans of each window with the highest sums of start and end logits.

    A span starts at a token that may start an answer (`begins`), ends `in_context`, both bool
    `[N, S]`, and has at most A tokens. All such spans are compared. `write_predictions` of
    google-research/bert run_squad.py compares only spans between the best starts and ends.

    Returns:
        A dict of `score`, float32 `[N, K]`, the highest first, `NO_SPAN` if there are fewer spans;
        `first` and `last`, int64 `[N, K]`, positions of the first and the last token; and `total`,
        float32 `[N]`, the logsumexp of the scores of all spans.
    """
    start = ops.where(tokens["begins"], tokens["start"], NO_SPAN)
    end = ops.where(tokens["in_context"], tokens["end"], NO_SPAN)
    num_windows = ops.num_rows(start)
    length = ops.num_columns(start)
    num_spans = length * max_answer_length
    past_end = ops.full([num_windows, max_answer_length - 1], NO_SPAN, "float32")
    end = ops.concat([end, past_end], axis=1)
    span_ends = ops.arange(length)[:, None] + ops.arange(max_answer_length)  # [S, A]
    end = ops.take_columns(end, span_ends)  # [N, S, A]
    scores = ops.maximum(start[:, :, None] + end, NO_SPAN)
    scores = ops.reshape(scores, [num_windows, num_spans])
    best, span = ops.top_k(scores, ops.minimum(num_spans, n_best))
    first = span // max_answer_length
    last = ops.minimum(first + span % max_answer_length, length - 1)  # past it if no span
    return {"score": best, "first": first, "last": last, "total": ops.logsumexp(scores)}


def _first_window(values, extremes, question, ops):
    """Returns the first window of each question that has its extreme value, int64 `[B]`."""
    is_extreme = values == ops.take(extremes, question)
    question_if_extreme = ops.where(is_extreme, question, -1)
    windows = ops.arange(ops.num_rows(question))
    return ops.segment_min(windows, question_if_extreme, ops.num_rows(extremes))


def _segment_logsumexp(values, segments, count, ops):
    highest = ops.segment_max(values, segments, count)
    shares = ops.exp(values - ops.take(highest, segments))
    return highest + ops.log(ops.segment_sum(shares, segments, count))


def _n_best(windows, outputs, spans, null, total, n_best, may_be_null):
    """Returns the best spans of each question in memory, without repeated texts, best first.

    "No answer", the span of [CLS], competes if it may be an answer, or if there is no other.
    """
    null_window = _first_window(spans["null"], null, windows.question, numpy_ops)
    is_span = spans["score"] > NO_SPAN  # [N, K]
    window, _ = np.nonzero(is_span)
    nulls = np.arange(len(null))  # questions with "no answer"
    if not may_be_null:
        nulls = np.setdiff1d(nulls, windows.question[window])
    window = np.append(window, null_window[nulls])
    question = windows.question[window]
    score = np.append(spans["score"][is_span], null[nulls])

    def with_nulls(name):
        return np.append(spans[name][is_span], 0 * nulls)

    start = with_nulls("start")
    end = with_nulls("end")
    context = windows.context[question]
    texts = numpy_ops.substrings(windows.contexts.texts, context, start, end)
    best = []
    counts = [0] * len(null)
    known = set()
    for index in np.lexsort((-score, question)).tolist():
        answer = (question[index], texts[index])
        if answer not in known and counts[question[index]] < n_best:
            known.add(answer)
            counts[question[index]] += 1
            best.append(index)
    candidates = {
        "answer": texts,
        "score": np.exp(score - total[question]),
        "start": start,
        "end": end,
        "start_logit": outputs["start"][window, with_nulls("first")],
        "end_logit": outputs["end"][window, with_nulls("last")],
    }
    answers = {}
    for name, values in candidates.items():
        answers[f"n_best_{name}"] = numpy_ops.from_row_lengths(values[best], counts)
    return answers
