"""Search for answers in the logits of question windows.

B questions, N windows, S sequence, K best spans of a window, A tokens of the longest answer.
"""

import itertools
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
    spans = spans_of_windows(windows, outputs, max_answer_length, n_best)
    question, number = windows.question, ops.num_rows(windows.context)
    best = ops.segment_max(spans["score"][:, 0], question, number)  # [B]
    row = _first_row(spans["score"][:, 0], best, question, ops)
    null = ops.segment_min(spans["null"], question, number)
    highest = ops.segment_max(spans["total"], question, number)
    shares = ops.exp(spans["total"] - ops.take(highest, question))
    total = highest + ops.log(ops.segment_sum(shares, question, number))
    is_answered = best > NO_SPAN
    odds = ops.where(is_answered, null - best, null)
    is_null = ~is_answered
    if null_threshold is not None:
        total = ops.logsumexp(ops.stack([total, null], axis=1))
        is_null |= odds > null_threshold
    total = ops.where(is_answered, total, null)
    start = ops.where(is_null, 0, ops.take(spans["start"][:, 0], row))
    end = ops.where(is_null, 0, ops.take(spans["end"][:, 0], row))
    answers = {
        "answer": ops.substrings(windows.contexts.texts, windows.context, start, end),
        **ops.text_spans(windows.contexts.texts, windows.context, start, end),
        "score": ops.exp(ops.where(is_null, null, best) - total),
        "null_odds": odds,
    }
    if n_best > 1:
        row = _first_row(spans["null"], null, question, ops)  # where "no answer" scores lowest
        nowhere = np.zeros(len(null))
        logits = spans["null_start_logit"][row], spans["null_end_logit"][row]
        nulls = np.stack([null, nowhere, nowhere, *logits], axis=1).tolist()
        answers |= _n_best(windows, spans, nulls, total, n_best, null_threshold is not None)
    return answers


def _best_spans(start_logits, end_logits, begins, in_context, max_answer_length, n_best, ops):
    """Finds the spans of each window with the highest sums of start and end logits.

    A span starts at a token that may start an answer (`begins`), ends `in_context`, both bool
    `[N, S]`, and has at most A tokens. All such spans are compared. `write_predictions` of
    google-research/bert run_squad.py compares only spans between the best starts and ends.

    Returns:
        A dict of `score`, float32 `[N, K]`, the highest first, `NO_SPAN` where there is no other;
        `start` and `end`, int64 `[N, K]`, positions of the first and the last token; and `total`,
        float32 `[N]`, the logsumexp of the scores of all spans.
    """
    windows, length = ops.num_rows(start_logits), ops.num_columns(start_logits)
    start = ops.where(begins, start_logits, NO_SPAN)
    end = ops.where(in_context, end_logits, NO_SPAN)
    after = ops.concat(
        [end, ops.full([windows, max_answer_length - 1], NO_SPAN, "float32")], axis=1
    )
    span_ends = ops.arange(length)[:, None] + ops.arange(max_answer_length)  # [S, A]
    scores = start[:, :, None] + ops.take_columns(after, span_ends)  # [N, S, A]
    scores = ops.reshape(ops.maximum(scores, NO_SPAN), [windows, length * max_answer_length])
    best, place = ops.top_k(scores, ops.minimum(length * max_answer_length, n_best))
    first = place // max_answer_length
    last = first + place % max_answer_length
    return {"score": best, "start": first, "end": last, "total": ops.logsumexp(scores)}


def spans_of_windows(
    windows: QuestionWindows, outputs: dict[str, Any], max_answer_length: int, n_best: int
) -> dict[str, Any]:
    """Finds each window's best spans, with their places, logits and the "no answer" score."""
    ops = windows.ops
    length = ops.num_columns(outputs["start"])
    places = windows.places(length)

    def some(rows):
        start = ops.take(outputs["start"], rows)
        end = ops.take(outputs["end"], rows)
        begins = ops.take(places["begins"], rows)
        in_context = ops.take(places["in_context"], rows)
        spans = _best_spans(start, end, begins, in_context, max_answer_length, n_best, ops)
        first = spans["start"]
        last = ops.minimum(spans["end"], length - 1)  # past it if no span
        return {
            "score": spans["score"],
            "total": spans["total"],
            "null": start[:, 0] + end[:, 0],
            "null_start_logit": start[:, 0],
            "null_end_logit": end[:, 0],
            "first": first,
            "last": last,
            "start": ops.take_along_axis(ops.take(places["starts"], rows), first),
            "end": ops.take_along_axis(ops.take(places["ends"], rows), last),
            "start_logit": ops.take_along_axis(start, first),
            "end_logit": ops.take_along_axis(end, last),
        }

    kinds = dict.fromkeys(("score", "start_logit", "end_logit"), ("float32", [None]))
    kinds |= dict.fromkeys(("first", "last", "start", "end"), ("int64", [None]))
    names = ("total", "null", "null_start_logit", "null_end_logit")
    kinds |= dict.fromkeys(names, ("float32", []))
    return ops.map_blocks(some, ops.num_rows(windows.question), _WINDOWS, kinds)


def _first_row(values, extremes, question, ops):
    """Returns the first window of each question that has its extreme value, int64 `[B]`."""
    is_it = values == ops.take(extremes, question)
    rows = ops.arange(ops.num_rows(question))
    return ops.segment_min(rows, ops.where(is_it, question, -1), ops.num_rows(extremes))


def _n_best(windows, spans, nulls, total, n_best, may_be_null):
    """Returns the best spans of each question in memory, without repeated texts, best first.

    "No answer", of which `nulls` are the score, 0, 0 and both logits, competes if it may be an
    answer, or if there is no other.
    """
    names = ("score", "start", "end", "start_logit", "end_logit")
    ends = np.searchsorted(windows.question, np.arange(1, len(total)))
    all_spans = np.stack([spans[name] for name in names], axis=-1)  # [N, K, 5]
    found = {f"n_best_{name}": [] for name in ("answer", *names)}
    for number, rows in enumerate(np.split(all_spans, ends)):
        ranked = [row for row in rows.reshape(-1, len(names)).tolist() if row[0] > NO_SPAN]
        if may_be_null or not ranked:
            ranked.append(nulls[number])
        text, best = windows.contexts.texts[windows.context[number]], {}
        for row in sorted(ranked, key=lambda row: -row[0]):
            best.setdefault(text[int(row[1]) : int(row[2])], row)
        best = dict(itertools.islice(best.items(), n_best))
        found["n_best_answer"].append(numpy_ops.strings([*best]))
        for name, column in zip(names, zip(*best.values(), strict=True), strict=True):
            dtype = "int64" if name in ("start", "end") else "float32"
            found[f"n_best_{name}"].append(np.array(column, dtype))
        found["n_best_score"][-1] = np.exp(found["n_best_score"][-1] - total[number])
    return found
