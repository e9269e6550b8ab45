"""Questions on contexts: windows of both, and the answers that they train on.

B questions, U contexts, T tokens of all contexts, N windows, S sequence.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.messages import logger
from keras_bert.preprocessing.forms import check_each
from keras_bert.preprocessing.text_rows import TextRows, located
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
        ops = self.ops
        parts = self.columns[1]
        offset = ops.arange(length) - self.context_positions()[:, None]  # [N, S]
        in_context = (offset >= 0) & (offset < parts.lengths[:, None])
        begins = self._has_most_context(offset, in_context)
        token = parts.starts[:, None] + offset  # of all contexts
        token = ops.where(in_context, token, 0)
        starts = ops.take(self.contexts.starts, token)
        ends = ops.take(self.contexts.ends, token)
        return {
            "begins": begins,
            "in_context": in_context & (starts < ends),  # a bare "▁" ends no answer
            "starts": ops.where(in_context, starts, 0),
            "ends": ops.where(in_context, ends, 0),
        }

    def _has_most_context(self, offset, in_context):
        """Returns where no other window has more context around the same token, bool `[N, S]`."""
        ops = self.ops
        length = self.length[:, None]
        # A context may have several questions; its tokens compete within each question only.
        counts = ops.take(self.contexts.tokens.lengths, self.context)  # [B]
        ends = ops.cumsum(counts)
        num_tokens = ops.max_or_zero(ends) + 1
        first = ops.take(ends - counts, self.question) + self.first  # [N]
        token = ops.where(in_context, first[:, None] + offset, -1)  # of all questions
        token_or_zero = ops.maximum(token, 0)
        score = 100 * ops.minimum(offset, length - 1 - offset) + length
        best = ops.segment_max(score, token, num_tokens)
        is_best = in_context & (score == ops.take(best, token_or_zero))
        windows = ops.arange(ops.num_rows(length))
        window = windows[:, None] + 0 * token
        best_token = ops.where(is_best, token, -1)
        earliest = ops.segment_min(window, best_token, num_tokens)
        return is_best & (window == ops.take(earliest, token_or_zero))


def question_windows(
    preprocessor: Any, questions: Tokens, contexts: TextTokens, context: Any
) -> QuestionWindows:
    """Cuts contexts `[U]` into windows; `context` `[B]` is the index of each question's.

    `preprocessor` is a `BertSpanLabelerPreprocessor`.
    """
    ops = questions.ops
    packer = preprocessor.packer
    questions = questions.shortened(preprocessor.max_question_length)
    room = packer.pair_room - questions.lengths
    step = ops.minimum(room, preprocessor.document_stride)
    own_contexts = contexts.tokens.take(context)  # [B]
    parts, counts = own_contexts.windows(room, step)
    question, window = numbered(counts, ops)  # [N]
    return QuestionWindows(
        packer,
        (questions.take(question), parts),
        contexts=contexts,
        context=context,
        question=question,
        first=window * ops.take(step, question),
    )


def trained_windows(examples: Sequence[dict], preprocessor: Any) -> QuestionWindows:
    """Makes `QuestionWindows` with targets from the examples that have an answer to train on."""
    check_answers(examples)
    trained = []
    spans = []
    for example in examples:
        span = training_answer(example)
        if span is not None:
            trained.append(example)
            spans.append(span)
    if not trained:
        raise ValueError(f"No question has answers to train on or is_impossible=True. {_ANSWERS}.")
    if len(trained) < len(examples):
        logger.warning(
            "%d of %d questions have no answer at its answer_start, and are left out.",
            len(examples) - len(trained),
            len(examples),
        )
    windows = windows_of(trained, preprocessor)
    windows.targets = (window_labels(windows, spans),)
    return windows


def windows_of(examples: Sequence[dict], preprocessor: Any) -> QuestionWindows:
    """Cuts examples into `QuestionWindows`; a shared context is tokenized once."""
    questions = []
    context = []
    indices = {}  # of different contexts
    for example in examples:
        questions.append(example["question"])
        context.append(indices.setdefault(example["context"], len(indices)))
    questions = preprocessor.tokenized(questions)
    contexts = located(preprocessor, list(indices))
    return question_windows(preprocessor, questions, contexts, np.array(context))


def window_labels(
    windows: QuestionWindows, spans: Sequence[tuple[int, int]]
) -> dict[str, np.ndarray]:
    """Finds the answer in each window.

    An answer starts with the token of its first character and ends with the token of its last.
    `spans` are the characters of each question's answer in its context, `(0, 0)` for no answer.
    Returns `start` and `end`, int32 `[N]`; 0, which is [CLS], if the answer isn't in the window.
    """
    answers = []
    for context, (start, end) in zip(windows.context, spans, strict=True):
        answers.append(_tokens_of_span(windows.contexts, context, start, end))
    first, last = np.array(answers)[windows.question].T  # [N], in the context
    start = first - windows.first  # in the window's part of it
    end = last - windows.first
    is_inside = (start >= 0) & (end < windows.length)
    position = windows.context_positions()
    labels = {"start": start + position, "end": end + position}
    return {name: np.where(is_inside, at, 0).astype("int32") for name, at in labels.items()}


def _tokens_of_span(contexts, context, start, end):
    """Returns the first and the last token that overlap a span of a context; -1 if none does."""
    begin = contexts.tokens.starts[context]
    tokens = slice(begin, begin + contexts.tokens.lengths[context])
    first = np.searchsorted(contexts.ends[tokens], start, side="right")
    last = np.searchsorted(contexts.starts[tokens], end, side="left") - 1
    if first > last:
        return -1, -1
    return first, last


def is_question(example: Any) -> bool:
    """Returns whether something is a question on a context."""
    return _holds(example, {"question": str, "context": str})


def check_answers(examples: Sequence[dict], with_starts: bool = True) -> None:
    """Raises a ValueError if the answers of a question are not as `read_squad` returns them."""
    types = {"text": str}
    if with_starts:
        types["answer_start"] = numbers.Integral

    def are_answers(answers):
        is_list = isinstance(answers, (list, tuple))
        return is_list and all(_holds(answer, types) for answer in answers)

    answers = [example.get("answers", ()) for example in examples]
    check_each(answers, are_answers, _ANSWERS)


def _holds(value, types):
    """Returns whether a value is a dict with values of these types."""
    if not isinstance(value, dict):
        return False
    return all(isinstance(value.get(name), kind) for name, kind in types.items())
