"""Answers in the words of their contexts, out of a model's logits."""

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.best_spans import NO_SPAN, best_spans
from keras_bert.preprocessing.question_dataset import character_span, to_bytes

_ROWS = 64  # windows whose spans are compared at once


def answers_of(
    examples, windows, start_logits, end_logits, *, max_answer_length, n_best, null_threshold
):
    """The answers to some questions.

    Args:
        examples: dicts with `context`.
        windows: the `QuestionWindows` of the examples.
        start_logits: float32 `[N, S]`.
        end_logits: float32 `[N, S]`.
        max_answer_length: int, tokens.
        n_best: int, how many answers to give.
        null_threshold: float; see `BertSpanLabeler`; or None.

    Returns:
        A list of dicts; see `BertSpanLabeler.predict`.
    """
    with tf.device("CPU:0"):
        places = {name: v.numpy() for name, v in windows.places(start_logits.shape[1]).items()}
    spans = _spans(start_logits, end_logits, places, max_answer_length, n_best)
    nulls = np.stack([start_logits[:, 0], end_logits[:, 0]], axis=1)  # [N, 2]
    bounds = np.searchsorted(windows.question.numpy(), np.arange(len(examples) + 1))
    answers = []
    for example, first, last in zip(examples, bounds, bounds[1:], strict=False):
        rows = slice(first, last)
        null = nulls[rows][nulls[rows].sum(axis=1).argmin()]
        total = np.logaddexp.reduce(spans["total"][rows])
        if null_threshold is not None:
            total = np.logaddexp(total, null.sum())
        if spans["score"][rows].max() <= NO_SPAN:  # there is nothing in the context to answer with
            total = null.sum()
        texts = _texts(example["context"], {name: v[rows] for name, v in spans.items()}, total)
        found = texts[:n_best]
        difference = float(null.sum() - found[0]["logits"]) if found else float(null.sum())
        no_answer = _answer("", 0, 0, null, total)
        is_null = not found or (null_threshold is not None and difference > null_threshold)
        if null_threshold is not None or not found:
            found = sorted([*found, no_answer], key=lambda answer: -answer["logits"])[:n_best]
        best = no_answer if is_null else texts[0]
        answer = {name: best[name] for name in ("answer", "start", "end", "score")}
        answer["null_odds"] = difference
        if n_best > 1:
            for one in found:
                one.pop("logits", None)
            answer["n_best"] = found
        answers.append(answer)
    return answers


def _spans(start_logits, end_logits, places, max_answer_length, n_best):
    """`best_spans` of all windows, in bytes, with the logits of their ends; arrays `[N, K]`."""
    parts = []
    for row in range(0, len(start_logits), _ROWS):
        rows = slice(row, row + _ROWS)
        starts, ends = start_logits[rows], end_logits[rows]
        with tf.device("CPU:0"):
            best = best_spans(
                starts,
                ends,
                places["begins"][rows],
                places["in_context"][rows],
                max_answer_length=max_answer_length,
                n_best=n_best,
            )
        best = {name: value.numpy() for name, value in best.items()}
        last = np.minimum(best["end"], starts.shape[1] - 1)  # behind the end where there is none
        best["start_logit"] = np.take_along_axis(starts, best["start"], axis=1)
        best["end_logit"] = np.take_along_axis(ends, last, axis=1)
        best["start"] = np.take_along_axis(places["starts"][rows], best["start"], axis=1)
        best["end"] = np.take_along_axis(places["ends"][rows], last, axis=1)
        parts.append(best)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _texts(context, spans, total):
    """The answers in one context, the best first, each text once."""
    data, found = to_bytes(context), {}
    scores = spans["score"].ravel()
    for index in np.argsort(-scores, kind="stable"):
        if scores[index] <= NO_SPAN:
            break
        start, end = (int(spans[name].ravel()[index]) for name in ("start", "end"))
        logits = (spans["start_logit"].ravel()[index], spans["end_logit"].ravel()[index])
        start, end = character_span(data, start, end)
        found.setdefault(context[start:end], _answer(context[start:end], start, end, logits, total))
    return list(found.values())


def _answer(text, start, end, logits, total):
    start_logit, end_logit = map(float, logits)
    return {
        "answer": text,
        "start": start,
        "end": end,
        "score": float(np.exp(start_logit + end_logit - total)),
        "start_logit": start_logit,
        "end_logit": end_logit,
        "logits": start_logit + end_logit,
    }
