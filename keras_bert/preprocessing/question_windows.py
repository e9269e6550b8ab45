"""Windows of questions and parts of their contexts.

B questions, U contexts, T tokens of a context, N windows, S sequence.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.messages import check_int
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.rows import row_lengths


@dataclasses.dataclass
class QuestionWindows:
    """Windows of contexts, as rows for the model.

    A window is `[CLS] question [SEP] part of its context [SEP]`. The parts start `document_stride`
    tokens apart, so that each span has words around it in some window. Every question has at least
    one window, even if its context has no tokens.
    Source: `convert_examples_to_features` of google-research/bert run_squad.py.

    Attributes:
        preprocessor: a `BertPreprocessor`.
        contexts: string `[U]`.
        questions: int32 ragged `[B, (tokens)]`, truncated to the longest allowed.
        pieces: int32 ragged `[U, (T)]`, the token ids of the contexts.
        starts: int64 ragged `[U, (T)]`, the byte of the context at which each token starts.
        ends: int64 ragged `[U, (T)]`, the byte after each token.
        context: int64 `[B]`, the context of each question.
        question: int64 `[N]`, the question of each window, in ascending order.
        first: int64 `[N]`, the first token of the context in each window.
        length: int64 `[N]`, the number of context tokens in each window.
        targets: a dict of `start` and `end`, int32 `[N]`; or None.
    """

    preprocessor: BertPreprocessor
    contexts: tf.Tensor
    questions: tf.RaggedTensor
    pieces: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor
    context: tf.Tensor
    question: tf.Tensor
    first: tf.Tensor
    length: tf.Tensor
    targets: dict | None = None

    def inputs(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Makes the model's inputs, a dict of int32 `[n, S]`, for windows by number, `[n]`."""
        question = tf.gather(self.question, rows)
        begin = self._flat_begin(rows)
        tokens = tf.ragged.range(begin, begin + tf.gather(self.length, rows))
        tokens = tokens.with_flat_values(tf.gather(self.pieces.flat_values, tokens.flat_values))
        return self.preprocessor.pack(tf.gather(self.questions, question), tokens)

    @in_graph
    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs,)`, or `(inputs, labels)` if there are targets, of windows `[B]`."""
        inputs = trimmed(self.inputs(rows), batching)
        if self.targets is None:
            return (inputs,)
        return inputs, {name: tf.gather(places, rows) for name, places in self.targets.items()}

    def context_positions(self) -> tf.Tensor:
        """Returns the position at which the context starts in each window, int64 `[N]`."""
        lengths = tf.cast(self.questions.row_lengths(), tf.int64)
        return tf.gather(lengths, self.question) + 2  # [CLS] question [SEP]

    def places(self, length: int | tf.Tensor) -> dict[str, tf.Tensor]:
        """Locates the tokens of each window in their context, and those that may start an answer.

        A token in several windows starts an answer only in the window with the most context around
        it. That is the window in which the smaller of its left and right contexts is largest; on
        ties, the longer window (the maximum-context rule of run_squad.py).

        Args:
            length: int, S, the number of positions of each window to locate.

        Returns:
            A dict of `begins` and `in_context`, bool `[N, S]`, and the bytes `starts` and `ends`,
            int64 `[N, S]`, 0 outside the context.
        """
        windows = tf.shape(self.question, tf.int64)[0]
        rows = tf.range(windows)
        offset = tf.range(length, dtype=tf.int64) - self.context_positions()[:, None]  # [N, S]
        part = self.length[:, None]
        in_context = (offset >= 0) & (offset < part)
        flat = tf.where(in_context, self._flat_begin(rows)[:, None] + offset, -1)
        # A context may have several questions; its tokens compete within each question only.
        counts = tf.gather(self.pieces.row_lengths(), self.context)  # [B]
        own_begin = tf.gather(tf.cumsum(counts, exclusive=True), self.question)[:, None]
        token = tf.where(in_context, own_begin + self.first[:, None] + offset, -1)
        total = tf.reduce_sum(counts)
        score = 100 * tf.minimum(offset, part - 1 - offset) + part
        best = tf.math.unsorted_segment_max(score, token, total)
        is_best = in_context & (score == _looked_up(best, token))
        row = tf.broadcast_to(rows[:, None], tf.shape(token))
        earliest = tf.math.unsorted_segment_min(row, tf.where(is_best, token, -1), total)
        return {
            "begins": is_best & (row == _looked_up(earliest, token)),
            "in_context": in_context,
            "starts": _looked_up(self.starts.flat_values, flat),
            "ends": _looked_up(self.ends.flat_values, flat),
        }

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[N]`, the number of tokens of each window, special tokens included."""
        lengths = row_lengths(self.questions)[self.question.numpy()]
        return 3 + lengths + self.length.numpy()  # [CLS] question [SEP] context [SEP]

    def _flat_begin(self, rows):
        context = tf.gather(self.context, tf.gather(self.question, rows))
        return tf.gather(self.pieces.row_starts(), context) + tf.gather(self.first, rows)


@in_graph
def question_windows(
    preprocessor: BertPreprocessor,
    questions: tf.Tensor,
    contexts: tf.Tensor,
    context: tf.Tensor | None = None,
    *,
    document_stride: int,
    max_question_length: int,
) -> QuestionWindows:
    """Cuts contexts into `QuestionWindows`, in Python, in `tf.data` and in a SavedModel.

    Args:
        preprocessor: a `BertPreprocessor`.
        questions: `[B]` strings.
        contexts: `[U]` strings.
        context: int64 `[B]`, the context of each question; by default each has its own.
        document_stride: int, tokens from the start of a window to the start of the next one.
        max_question_length: int; longer questions lose their last tokens.
    """
    contexts = tf.convert_to_tensor(contexts)
    questions = preprocessor.graph_tokenizer(questions)[:, :max_question_length]
    pieces, starts, ends = preprocessor.graph_tokenizer.tokenize_with_offsets(contexts)
    if context is None:
        context = tf.range(questions.nrows())
    context = tf.cast(context, tf.int64)
    counts = tf.gather(pieces.row_lengths(), context)  # [B]
    room = preprocessor.sequence_length - 3 - tf.cast(questions.row_lengths(), tf.int64)
    step = tf.minimum(room, document_stride)
    more = tf.maximum(counts - room, 0)
    num_windows = 1 + (more + step - 1) // step  # [B]
    question = tf.repeat(tf.range(tf.shape(num_windows, tf.int64)[0]), num_windows)  # [N]
    before = tf.gather(tf.cumsum(num_windows, exclusive=True), question)
    first = (tf.range(tf.shape(question, tf.int64)[0]) - before) * tf.gather(step, question)
    length = tf.minimum(tf.gather(room, question), tf.gather(counts, question) - first)
    return QuestionWindows(
        preprocessor, contexts, questions, pieces, starts, ends, context, question, first, length
    )


def check_lengths(
    preprocessor: BertPreprocessor, document_stride: int, max_question_length: int
) -> None:
    """Raises a ValueError if windows of these sizes can't be cut."""
    for name, value in (
        ("document_stride", document_stride),
        ("max_question_length", max_question_length),
    ):
        check_int(name, value)
    room = preprocessor.sequence_length - 3 - max_question_length
    if room < 1:
        raise ValueError(
            f"A question of max_question_length={max_question_length} tokens, [CLS] and two [SEP] "
            "leave no room for a context in sequences of "
            f"{preprocessor.sequence_length} tokens. Give a larger sequence_length, for example "
            "from_preset(..., sequence_length=384), or a smaller max_question_length."
        )


def _looked_up(values, indices):
    """Returns `values[indices]`, with 0 for an index of -1."""
    padded = tf.concat([tf.zeros([1], values.dtype), values], axis=0)
    return tf.gather(padded, indices + 1)
