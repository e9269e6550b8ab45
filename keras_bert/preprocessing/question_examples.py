"""Questions on contexts in memory: checks, windows and answers to train on."""

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.preprocessing.question_windows import QuestionWindows, question_windows
from keras_bert.preprocessing.raw import check_each
from keras_bert.readers.squad import training_answer

_ANSWERS = "Answers must be a list of dicts of 'text' and 'answer_start', in characters"


def trained_windows(examples: Sequence[dict], preprocessor: Any) -> QuestionWindows:
    """Makes `QuestionWindows` with targets from the examples that have an answer to train on."""
    check_answers(examples)
    spans = [training_answer(example) for example in examples]
    examples = [e for e, span in zip(examples, spans, strict=True) if span is not None]
    if not examples:
        raise ValueError(f"No question has answers to train on or is_impossible=True. {_ANSWERS}.")
    windows = windows_of(examples, preprocessor)
    labels = window_labels(windows, examples, [span for span in spans if span is not None])
    return dataclasses.replace(windows, targets=(labels,))


def windows_of(examples: Sequence[dict], preprocessor: Any) -> QuestionWindows:
    """Cuts examples into `QuestionWindows`; a shared context is tokenized once."""
    numbers = {}
    context = [numbers.setdefault(e["context"], len(numbers)) for e in examples]
    return question_windows(
        preprocessor,
        preprocessor.tokenized([example["question"] for example in examples]),
        preprocessor.located(list(numbers)),
        np.array(context),
    )


def window_labels(
    windows: QuestionWindows, examples: Sequence[dict], spans: Sequence[tuple[int, int]]
) -> dict[str, np.ndarray]:
    """Finds the answer in each window.

    An answer starts with the token of its first character and ends with the token of its last.
    `spans` are its characters in the context, empty for no answer. Returns `start` and `end`, int32
    `[N]`; 0, which is [CLS], if the answer isn't in the window.
    """
    contexts, tokens = windows.contexts, windows.contexts.tokens
    first, last = np.full(len(examples), -1), np.full(len(examples), -1)
    for index, (context, (start, end)) in enumerate(zip(windows.context, spans, strict=True)):
        if start >= end:
            continue
        own = slice(tokens.starts[context], tokens.starts[context] + tokens.lengths[context])
        left = np.searchsorted(contexts.ends[own], start, side="right")
        right = np.searchsorted(contexts.starts[own], end, side="left") - 1
        if left <= right:  # otherwise no token overlaps the answer
            first[index], last[index] = left, right
    question, part = windows.question, windows.first
    start, end = first[question] - part, last[question] - part  # [N]
    held = (first[question] >= 0) & (start >= 0) & (end < windows.length)
    begin = windows.context_positions()
    return {
        "start": np.where(held, start + begin, 0).astype("int32"),
        "end": np.where(held, end + begin, 0).astype("int32"),
    }


def check_questions(examples: Sequence[dict]) -> None:
    """Raises a ValueError if something is not a question on a context."""
    expected = "A question must be a dict of two strings, {'question': ..., 'context': ...}"
    kinds = {"question": str, "context": str}
    check_each(examples, lambda example: _holds(example, kinds), expected)


def check_answers(examples: Sequence[dict], with_starts: bool = True) -> None:
    """Raises a ValueError if the answers of a question are not as `read_squad` returns them."""
    kinds = {"text": str, "answer_start": numbers.Integral} if with_starts else {"text": str}

    def are_answers(answers):
        is_list = isinstance(answers, (list, tuple))
        return is_list and all(_holds(answer, kinds) for answer in answers)

    check_each([example.get("answers", ()) for example in examples], are_answers, _ANSWERS)


def _holds(value, kinds):
    """Returns whether a value is a dict with values of these kinds."""
    is_dict = isinstance(value, dict)
    return is_dict and all(isinstance(value.get(name), kind) for name, kind in kinds.items())


def check_scored(examples: Sequence[dict]) -> None:
    """Raises a ValueError unless questions have what scores need: an `id` and `answers`."""
    expected = "scores needs an id and answers of questions"
    check_each(examples, lambda e: isinstance(e, dict) and {"id", "answers"} <= set(e), expected)
    check_answers(examples, with_starts=False)
