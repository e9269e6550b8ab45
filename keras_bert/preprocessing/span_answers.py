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
    spans = spans_of_windows(windows, outputs, max_answer_length, n_best)
    best_of_window = spans["score"][:, 0]
    best = ops.segment_max(best_of_window, question, num_questions)  # [B]
    best_window = _first_window(best_of_window, best, question, ops)
    null = ops.segment_min(spans["null"], question, num_questions)
    total = _segment_logsumexp(spans["total"], question, num_questions, ops)
    is_answered = best > NO_SPAN
    odds = ops.where(is_answered, null - best, null)
    is_null = ~is_answered
    if null_threshold is not None:
        total = ops.logsumexp(ops.stack([total, null], axis=1))
        is_null |= odds > null_threshold
    total = ops.where(is_answered, total, null)
    start = ops.where(is_null, 0, ops.take(spans["start"][:, 0], best_window))
    end = ops.where(is_null, 0, ops.take(spans["end"][:, 0], best_window))
    texts = windows.contexts.texts
    answers = {
        "answer": ops.substrings(texts, windows.context, start, end),
        **ops.text_spans(texts, windows.context, start, end),
        "score": ops.exp(ops.where(is_null, null, best) - total),
        "null_odds": odds,
    }
    if n_best > 1:
        answers |= _n_best(windows, spans, null, total, n_best, null_threshold is not None)
    return answers


def spans_of_windows(
    windows: QuestionWindows, outputs: dict[str, Any], max_answer_length: int, n_best: int
) -> dict[str, Any]:
    """Finds each window's best spans, with their characters, logits and the "no answer" score."""
    ops = windows.ops
    places = windows.places(ops.num_columns(outputs["start"]))

    def spans_of_block(rows):
        start = ops.take(outputs["start"], rows)
        end = ops.take(outputs["end"], rows)
        begins = ops.take(places["begins"], rows)
        in_context = ops.take(places["in_context"], rows)
        spans = _best_spans(start, end, begins, in_context, max_answer_length, n_best, ops)
        first = spans["first"]
        last = spans["last"]
        return spans | {
            "start": ops.take_along_axis(ops.take(places["starts"], rows), first),
            "end": ops.take_along_axis(ops.take(places["ends"], rows), last),
            "start_logit": ops.take_along_axis(start, first),
            "end_logit": ops.take_along_axis(end, last),
            "null": start[:, 0] + end[:, 0],
            "null_start_logit": start[:, 0],
            "null_end_logit": end[:, 0],
        }

    span_int = ("int64", [None])  # [N, K]
    span_float = ("float32", [None])
    window_float = ("float32", [])  # [N]
    specs = {
        "score": span_float,
        "start_logit": span_float,
        "end_logit": span_float,
        "first": span_int,
        "last": span_int,
        "start": span_int,
        "end": span_int,
        "total": window_float,
        "null": window_float,
        "null_start_logit": window_float,
        "null_end_logit": window_float,
    }
    return ops.map_blocks(spans_of_block, ops.num_rows(windows.question), _WINDOWS, specs)


def _best_spans(start_logits, end_logits, begins, in_context, max_answer_length, n_best, ops):
    """Finds the spans of each window with the highest sums of start and end logits.

    A span starts at a token that may start an answer (`begins`), ends `in_context`, both bool
    `[N, S]`, and has at most A tokens. All such spans are compared. `write_predictions` of
    google-research/bert run_squad.py compares only spans between the best starts and ends.

    Returns:
        A dict of `score`, float32 `[N, K]`, the highest first, `NO_SPAN` if there are fewer spans;
        `first` and `last`, int64 `[N, K]`, positions of the first and the last token; and `total`,
        float32 `[N]`, the logsumexp of the scores of all spans.
    """
    num_windows = ops.num_rows(start_logits)
    length = ops.num_columns(start_logits)
    num_spans = length * max_answer_length
    start = ops.where(begins, start_logits, NO_SPAN)
    end = ops.where(in_context, end_logits, NO_SPAN)
    past_end = ops.full([num_windows, max_answer_length - 1], NO_SPAN, "float32")
    end = ops.concat([end, past_end], axis=1)
    span_ends = ops.arange(length)[:, None] + ops.arange(max_answer_length)  # [S, A]
    scores = start[:, :, None] + ops.take_columns(end, span_ends)  # [N, S, A]
    scores = ops.reshape(ops.maximum(scores, NO_SPAN), [num_windows, num_spans])
    best, span = ops.top_k(scores, ops.minimum(num_spans, n_best))
    first = span // max_answer_length
    last = ops.minimum(first + span % max_answer_length, length - 1)  # past it if no span
    return {"score": best, "first": first, "last": last, "total": ops.logsumexp(scores)}


def _first_window(values, extremes, question, ops):
    """Returns the first window of each question that has its extreme value, int64 `[B]`."""
    is_extreme = values == ops.take(extremes, question)
    rows = ops.arange(ops.num_rows(question))
    return ops.segment_min(rows, ops.where(is_extreme, question, -1), ops.num_rows(extremes))


def _segment_logsumexp(values, segments, count, ops):
    highest = ops.segment_max(values, segments, count)
    shares = ops.exp(values - ops.take(highest, segments))
    return highest + ops.log(ops.segment_sum(shares, segments, count))


def _n_best(windows, spans, null, total, n_best, may_be_null):
    """Returns the best spans of each question in memory, without repeated texts, best first.

    "No answer" competes if it may be an answer, or if there is no other.
    """
    names = ("score", "start", "end", "start_logit", "end_logit")
    window = _first_window(spans["null"], null, windows.question, numpy_ops)
    zeros = np.zeros(len(null))
    start_logit = spans["null_start_logit"][window]
    end_logit = spans["null_end_logit"][window]
    nulls = np.stack([null, zeros, zeros, start_logit, end_logit], axis=1)  # [B, 5]
    all_spans = np.stack([spans[name] for name in names], axis=-1)  # [N, K, 5]
    next_questions = np.searchsorted(windows.question, np.arange(1, len(total)))
    columns = {f"n_best_{name}": [] for name in ("answer", *names)}
    for index, candidates in enumerate(np.split(all_spans, next_questions)):
        candidates = candidates.reshape(-1, len(names))
        candidates = candidates[candidates[:, 0] > NO_SPAN]
        if may_be_null or not len(candidates):
            candidates = np.append(candidates, nulls[index : index + 1], axis=0)
        candidates = candidates[np.argsort(-candidates[:, 0], kind="stable")]
        text = windows.contexts.texts[windows.context[index]]
        bounds = candidates[:, 1:3].astype("int64").tolist()
        texts = numpy_ops.strings([text[start:end] for start, end in bounds])
        _, firsts = np.unique(texts, return_index=True)
        best = np.sort(firsts)[:n_best]
        columns["n_best_answer"].append(texts[best])
        for name, values in zip(names, candidates[best].T, strict=True):
            dtype = "int64" if name in ("start", "end") else "float32"
            columns[f"n_best_{name}"].append(values.astype(dtype))
        columns["n_best_score"][-1] = np.exp(columns["n_best_score"][-1] - total[index])
    return columns
