"""Questions on contexts: windows of both, and the answers that they train on.

B questions, U contexts, T tokens of all contexts, N windows, S sequence.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.preprocessing.forms import check_each
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.readers.squad import training_answer
from keras_bert.text.tokens import TextTokens, Tokens, numbered

QUESTION = "A question must be a dict of two strings, {'question': ..., 'context': ...}"
_ANSWERS = "Answers must be a list of dicts of 'text' and 'answer_start', in characters"


@dataclasses.dataclass(kw_only=True)
class QuestionWindows(TextRows):
    """Windows of contexts, as rows for the model.

    A window is `[CLS] question [SEP] part of its context [SEP]`. The parts start `document_stride`
    tokens apart, so that each span has words around it in some window. Every question has at least
    one window, even if its context has no tokens. The columns are questions, truncated to the
    longest allowed, and parts; the target is a dict of `start` and `end`, int32 `[N]`.
    Source: `convert_examples_to_features` of google-research/bert run_squad.py.
    """

    contexts: TextTokens  # `[U]`
    context: Any  # int64 `[B]`, the context of each question
    question: Any  # int64 `[N]`, the question of each window, in ascending order
    first: Any  # int64 `[N]`, the first token of the context in each window

    @property
    def length(self) -> Any:
        """The number of context tokens in each window, int64 `[N]`."""
        return self.columns[1].lengths

    def context_positions(self) -> Any:
        """Returns the position at which the context starts in each window, int64 `[N]`."""
        questions, _ = self.columns  # after [CLS] question [SEP]
        return questions.lengths + 1 + self.packer.tokenizer.num_separators

    def places(self, length: Any) -> dict[str, Any]:
        """Locates the first `length` tokens of each window in its context, and where answers start.

        A token in several windows starts an answer only in the window with the most context around
        it. That is the window in which the smaller of its left and right contexts is largest; on
        ties, the longer window (the maximum-context rule of run_squad.py).

        Returns `begins` and `in_context`, bool `[N, S]`, and `starts` and `ends`, int64 `[N, S]`,
        where each token is in its context, as in `TextTokens`; 0 outside.
        """
        ops, starts = self.ops, self.columns[1].starts
        offset = ops.arange(length) - self.context_positions()[:, None]  # [N, S]
        part = self.length[:, None]
        in_context = (offset >= 0) & (offset < part)
        flat = ops.where(in_context, starts[:, None] + offset, 0)
        # A context may have several questions; its tokens compete within each question only.
        counts = ops.take(self.contexts.tokens.lengths, self.context)  # [B]
        before = ops.take(ops.cumsum(counts) - counts, self.question)
        token = ops.where(in_context, (before + self.first)[:, None] + offset, -1)
        total = ops.max_or_zero(ops.cumsum(counts)) + 1
        score = 100 * ops.minimum(offset, part - 1 - offset) + part
        best = ops.segment_max(score, token, total)
        is_best = in_context & (score == ops.take(best, ops.maximum(token, 0)))
        row = ops.arange(ops.num_rows(part))[:, None] + 0 * token
        earliest = ops.segment_min(row, ops.where(is_best, token, -1), total)
        starts, ends = ops.take(self.contexts.starts, flat), ops.take(self.contexts.ends, flat)
        in_context &= starts < ends  # a "▁" alone ends no answer
        return {
            "begins": is_best & (row == ops.take(earliest, ops.maximum(token, 0))),
            "in_context": in_context,
            "starts": ops.where(in_context, starts, 0),
            "ends": ops.where(in_context, ends, 0),
        }


def question_windows(
    preprocessor: Any, questions: Tokens, contexts: TextTokens, context: Any
) -> QuestionWindows:
    """Cuts contexts `[U]` into windows; `context` is the number of each question's, `[B]`.

    `preprocessor` is a `BertSpanLabelerPreprocessor`.
    """
    ops, packer = questions.ops, preprocessor.packer
    questions = questions.shortened(preprocessor.max_question_length)
    room = packer.pair_room - questions.lengths
    step = ops.minimum(room, preprocessor.document_stride)
    parts, counts = contexts.tokens.take(context).windows(room, step)
    question, number = numbered(counts, ops)  # [N]
    return QuestionWindows(
        packer,
        (questions.take(question), parts),
        contexts=contexts,
        context=context,
        question=question,
        first=number * ops.take(step, question),
    )


def trained_windows(examples: Sequence[dict], preprocessor: Any) -> QuestionWindows:
    """Makes `QuestionWindows` with targets from the examples that have an answer to train on."""
    check_answers(examples)
    trained, spans = [], []
    for example in examples:
        span = training_answer(example)
        if span is not None:
            trained.append(example)
            spans.append(span)
    if not trained:
        raise ValueError(f"No question has answers to train on or is_impossible=True. {_ANSWERS}.")
    windows = windows_of(trained, preprocessor)
    labels = window_labels(windows, trained, spans)
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


def is_question(example: Any) -> bool:
    """Returns whether something is a question on a context."""
    return _holds(example, {"question": str, "context": str})


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
