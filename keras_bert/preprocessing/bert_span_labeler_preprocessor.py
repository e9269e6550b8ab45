"""Preprocessing for question answering."""

import dataclasses
from typing import Any

import numpy.typing as npt

from keras_bert.messages import check_int, check_number
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, Predict
from keras_bert.preprocessing.forms import Examples, Labels, Tensor, listed
from keras_bert.preprocessing.question_windows import (
    QUESTION,
    QuestionWindows,
    is_question,
    question_windows,
    trained_windows,
    windows_of,
)
from keras_bert.preprocessing.span_answers import span_answers
from keras_bert.preprocessing.text_rows import LONGEST, located
from keras_bert.readers.squad import listed_answers
from keras_bert.saved import registered

_WINDOWS = 32  # windows that an exported model reads at once, so that memory stays bounded


@registered
@dataclasses.dataclass(eq=False, repr=False)
class BertSpanLabelerPreprocessor(BertPreprocessor):
    """Preprocessor of `BertSpanLabeler`: questions on contexts in, spans of the contexts out.

    A context of any length is read in overlapping windows, `[CLS] question [SEP] part of the
    context [SEP]`. A window without the complete answer is labeled with the position of [CLS], and
    so are all windows of an impossible question. Training leaves out examples without an answer.
    Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert run_squad.py.

    Calls and the other arguments are those of `BertPreprocessor`.

    Args:
        document_stride: int, tokens from the start of a window to the start of the next one.
        max_question_length: int, tokens; longer questions lose their last tokens.
        max_answer_length: int, tokens.
        null_threshold: float, for SQuAD 2.0. The answer is "" if the score of "no answer" exceeds
            the best answer's by more than this; `squad_scores` finds the best value. None, for
            SQuAD 1.1, always answers.

    Raises:
        ValueError: if the windows leave no room for a context, or a length is below 1.

    Example:
    >>> from keras_bert import BertSpanLabelerPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "where", "in", "par", "##is"]
    >>> preprocessor = BertSpanLabelerPreprocessor(
    ...     BertTokenizer(words), sequence_length=9, max_question_length=2
    ... )
    >>> answer = {"text": "Paris", "answer_start": 3}
    >>> question = {"question": "Where", "context": "in Paris", "answers": [answer]}
    >>> [(inputs, labels)] = preprocessor.batches([question])
    >>> inputs["token_ids"].tolist(), labels["start"].tolist(), labels["end"].tolist()
    ([[2, 5, 3, 6, 7, 8, 3]], [4], [5])
    """

    sequence_length: int = 384
    document_stride: int = 128
    max_question_length: int = 64
    max_answer_length: int = 30
    null_threshold: float | None = None

    truncates = False
    signature = {"question": 1, "context": 1}

    def __post_init__(self):
        super().__post_init__()
        for name in ("document_stride", "max_question_length", "max_answer_length"):
            check_int(name, getattr(self, name))
        if self.null_threshold is not None:
            check_number("null_threshold", self.null_threshold)
        if self.max_question_length >= self.packer.pair_room:
            raise ValueError(
                f"Questions of max_question_length={self.max_question_length} leave no room for a "
                f"context in sequence_length={self.sequence_length}."
            )

    def read(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        with_labels: bool = False,
    ) -> QuestionWindows:
        """Reads questions, dicts as of `read_squad`: `question`, `context`, and `answers` to train.

        Raises:
            ValueError: if something is not a question on a context, no question has an answer to
                train on, or there are labels or weights apart from the questions.
        """
        if y is not None or sample_weight is not None:
            raise ValueError("Questions contain answers: leave y and sample_weight out.")
        questions = self.listed(x)
        if with_labels:
            return trained_windows(questions, self)
        return windows_of(questions, self)

    def listed(self, x: Examples) -> list[dict]:
        questions = listed(x, is_question, QUESTION)
        for index, question in enumerate(questions):
            if "answers" in question:
                answers = listed_answers(question["answers"])
                questions[index] = question | {"answers": answers}
        return questions

    def answers(
        self, outputs: dict[str, Any], rows: QuestionWindows | None = None, n_best: int = 1
    ) -> dict:
        """Finds the answers to questions; for prepared inputs returns the logits.

        Args:
            outputs: a dict of logits, `start` and `end`, `[N, S]`.
            rows: as for `BertPreprocessor`.
            n_best: int; more than 1 adds the next best answers, in memory alone.

        Returns:
            A dict of `[B]` values.

            - `answer`, string: a span of the context, or "" for no answer.
            - `start` and `end`, int64: its characters in the context, `context[start:end]`.
            - `start_byte` and `end_byte`, int64: its bytes in the UTF-8 of the context.
            - `score`, float32: its probability among all answers of at most `max_answer_length`
              tokens, and "no answer" if there is a `null_threshold`.
            - `null_odds`, float32: the score of "no answer" minus the best answer's, in logits.

            With `n_best` above 1 also `n_best_answer`, `n_best_start`, `n_best_end`,
            `n_best_score`, `n_best_start_logit` and `n_best_end_logit` of each, the best first.
            For prepared inputs only `start_logits` and `end_logits`, `[N, S]`.
        """
        if rows is None:
            return {"start_logits": outputs["start"], "end_logits": outputs["end"]}
        check_int("n_best", n_best)
        return span_answers(rows, outputs, self.max_answer_length, self.null_threshold, n_best)

    def serve(self, predict: Predict, question: Tensor, context: Tensor) -> dict:
        """Answers questions `[B]` on contexts `[B]` of any length."""
        import tensorflow as tf

        message = "give each question a context of its own"
        same = tf.debugging.assert_equal(tf.shape(question), tf.shape(context), message)
        with tf.control_dependencies([same]):
            count = tf.size(question)
        # A batch of none gets a blank row to map.
        blank = tf.fill([tf.cast(count == 0, tf.int32)], "")
        questions = self.tokenized(tf.concat([question, blank], axis=0))
        contexts = located(self, tf.concat([context, blank], axis=0))
        own_context = tf.range(tf.size(questions.lengths, tf.int64))
        rows = question_windows(self, questions, contexts, own_context)
        answers = self.answers(_outputs_by_block(predict, rows), rows)
        return {name: values[:count] for name, values in answers.items()}


def _outputs_by_block(predict, rows):
    """Computes the outputs `[N, S]` of windows, `_WINDOWS` at a time, S that of the longest."""
    ops = rows.ops
    full = dataclasses.replace(LONGEST, pad_to="full")
    longest = ops.max_or_zero(rows.num_tokens())

    def outputs_of_block(numbers):
        [inputs] = rows.batch(numbers, full)
        return predict({name: values[:, :longest] for name, values in inputs.items()})

    specs = dict.fromkeys(("start", "end"), ("float32", [None]))
    return ops.map_blocks(outputs_of_block, ops.num_rows(rows.question), _WINDOWS, specs)
