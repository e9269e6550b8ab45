"""Windows of questions and parts of their contexts.

B questions, U contexts, T tokens of all contexts, N windows, S sequence.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.text_rows import packed
from keras_bert.text.tokens import SegmentPacker, TextTokens, Tokens, numbered


@dataclasses.dataclass
class QuestionWindows:
    """Windows of contexts, as rows for the model.

    A window is `[CLS] question [SEP] part of its context [SEP]`. The parts start `document_stride`
    tokens apart, so that each span has words around it in some window. Every question has at least
    one window, even if its context has no tokens.
    Source: `convert_examples_to_features` of google-research/bert run_squad.py.

    Attributes:
        packer: a `SegmentPacker`.
        questions: `Tokens` `[B]`, truncated to the longest allowed.
        contexts: `TextTokens` `[U]`.
        context: int64 `[B]`, the context of each question.
        question: int64 `[N]`, the question of each window, in ascending order.
        first: int64 `[N]`, the first token of the context in each window.
        length: int64 `[N]`, the number of context tokens in each window.
        targets: a dict of `start` and `end`, int32 `[N]`; or None.
    """

    packer: SegmentPacker
    questions: Tokens
    contexts: TextTokens
    context: Any
    question: Any
    first: Any
    length: Any
    targets: dict | None = None

    def num_tokens(self) -> np.ndarray:
        return self.context_positions() + self.length + 1  # [SEP]

    def batch(self, rows: Any, batching: Batching) -> tuple:
        """Makes `(inputs,)`, or `(inputs, labels)` if there are targets, of windows `[B]`."""
        ops = self.questions.ops
        inputs = packed([self.tokens(rows)], self.packer, batching)
        if self.targets is None:
            return tuple(inputs)
        return *inputs, {name: ops.take(places, rows) for name, places in self.targets.items()}

    def tokens(self, rows: Any) -> tuple[Tokens, Tokens]:
        """Returns the tokens of the questions and of the parts of contexts of windows `[B]`."""
        ops = self.questions.ops
        starts, lengths = (ops.take(x, rows) for x in (self._starts(), self.length))
        parts = dataclasses.replace(self.contexts.tokens, starts=starts, lengths=lengths)
        return self.questions.take(ops.take(self.question, rows)), parts

    def context_positions(self) -> Any:
        """Returns the position at which the context starts in each window, int64 `[N]`."""
        lengths = self.questions.take(self.question).lengths  # after [CLS] question [SEP]
        return lengths + 1 + self.packer.tokenizer.num_separators

    def places(self, length: Any) -> dict[str, Any]:
        """Locates the first `length` tokens of each window in its context, and where answers start.

        A token in several windows starts an answer only in the window with the most context around
        it. That is the window in which the smaller of its left and right contexts is largest; on
        ties, the longer window (the maximum-context rule of run_squad.py).

        Returns `begins` and `in_context`, bool `[N, S]`, and `starts` and `ends`, int64 `[N, S]`,
        where each token is in its context, as in `TextTokens`; 0 outside.
        """
        ops = self.questions.ops
        offset = ops.arange(length) - self.context_positions()[:, None]  # [N, S]
        part = self.length[:, None]
        in_context = (offset >= 0) & (offset < part)
        flat = ops.where(in_context, self._starts()[:, None] + offset, 0)
        # A context may have several questions; its tokens compete within each question only.
        counts = ops.take(self.contexts.tokens.lengths, self.context)  # [B]
        before = ops.take(ops.cumsum(counts) - counts, self.question)
        token = ops.where(in_context, (before + self.first)[:, None] + offset, -1)
        total = ops.maximum_of(ops.cumsum(counts)) + 1
        score = 100 * ops.minimum(offset, part - 1 - offset) + part
        best = ops.segment_max(score, token, total)
        is_best = in_context & (score == ops.take(best, ops.maximum(token, 0)))
        row = ops.arange(ops.size(part))[:, None] + 0 * token
        earliest = ops.segment_min(row, ops.where(is_best, token, -1), total)
        starts, ends = (ops.take(x, flat) for x in (self.contexts.starts, self.contexts.ends))
        return {
            "begins": is_best & (row == ops.take(earliest, ops.maximum(token, 0))),
            "in_context": in_context,
            "starts": ops.where(in_context, starts, 0),
            "ends": ops.where(in_context, ends, 0),
        }

    def _starts(self):
        """Returns the first token of each window among those of all contexts, int64 `[N]`."""
        context = self.questions.ops.take(self.context, self.question)
        return self.contexts.tokens.take(context).starts + self.first


def question_windows(
    preprocessor: Any, questions: Tokens, contexts: TextTokens, context: Any
) -> QuestionWindows:
    """Cuts contexts `[U]` into windows; `context` is the number of each question's, `[B]`.

    `preprocessor` is a `BertSpanLabelerPreprocessor`.
    """
    ops, packer = questions.ops, preprocessor.packer
    questions = questions.shortened(preprocessor.max_question_length)
    counts = ops.take(contexts.tokens.lengths, context)  # [B]
    room = packer.pair_room - questions.lengths
    step = ops.minimum(room, preprocessor.document_stride)
    more = ops.maximum(counts - room, 0)
    question, number = numbered(1 + (more + step - 1) // step, ops)  # [N]
    first = number * ops.take(step, question)
    length = ops.minimum(ops.take(room, question), ops.take(counts, question) - first)
    return QuestionWindows(packer, questions, contexts, context, question, first, length)
