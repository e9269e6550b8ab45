"""Questions with choices as rows for the model. B questions, C choices each, K in total."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.byte_spans import to_bytes
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.rows import row_lengths

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
    from keras_bert.preprocessing.raw import Labels


@dataclasses.dataclass
class ChoiceRows:
    """Questions in memory, with each choice as `[CLS] context [SEP] choice [SEP]`.

    Questions may differ in the number of their choices. Each gets as many rows as the question
    with the most choices; the rows of missing choices are empty.

    Attributes:
        preprocessor: a `BertPreprocessor`.
        num_choices: int, C, the largest number of choices of a question.
        texts: string ragged `[B, (C)]`, the choices.
        contexts: int32 ragged `[B, (T)]`, token ids.
        choices: int32 ragged `[K, (T)]`, token ids of the choices that aren't "".
        starts: int64 `[B + 1]`, the first choice of each question, and K.
        places: int64 `[K]`, the index of each choice within its question.
        labels: int32 `[B]`, the indices of the right choices; or None.
    """

    preprocessor: BertPreprocessor
    num_choices: int
    texts: tf.RaggedTensor
    contexts: tf.RaggedTensor
    choices: tf.RaggedTensor
    starts: tf.Tensor
    places: tf.Tensor
    labels: tf.Tensor | None = None

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[B]`, the number of tokens of each question's longest pair."""
        starts = self.starts.numpy()
        question = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        lengths = 3 + row_lengths(self.contexts)[question]
        lengths = lengths + row_lengths(self.choices)
        longest = np.maximum.reduceat(lengths, starts[:-1])
        return np.minimum(longest, self.preprocessor.sequence_length)

    @in_graph
    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs,)`, `[B, C, S]` each, or `(inputs, labels)`, of questions `[B]`."""
        starts = self.starts
        numbers = tf.ragged.range(tf.gather(starts, rows), tf.gather(starts, rows + 1))
        choice = numbers.flat_values
        inputs = choice_inputs(
            self.preprocessor,
            tf.gather(self.contexts, rows),
            tf.gather(self.choices, choice),
            tf.stack([numbers.value_rowids(), tf.gather(self.places, choice)], axis=1),
            (tf.shape(rows, tf.int64)[0], self.num_choices),
        )
        inputs = trimmed(inputs, batching)
        return (inputs,) if self.labels is None else (inputs, tf.gather(self.labels, rows))


def choice_rows(
    examples: list[dict], preprocessor: BertPreprocessor, with_labels: bool
) -> ChoiceRows:
    """Reads questions as `ChoiceRows`; a choice of "" is missing."""
    check_choices(examples, with_labels)
    choices = [[*map(to_bytes, example["choices"])] for example in examples]
    there = [
        (index, place, text)
        for index, texts in enumerate(choices)
        for place, text in enumerate(texts)
        if text
    ]
    question, place, texts = zip(*there, strict=True)  # [K] each
    starts = np.searchsorted(question, np.arange(len(examples) + 1))
    with tf.device("CPU:0"):
        return ChoiceRows(
            preprocessor,
            max(map(len, choices)),
            tf.ragged.constant(choices),
            preprocessor.graph_tokenizer([to_bytes(example["context"]) for example in examples]),
            preprocessor.graph_tokenizer(list(texts)),
            tf.constant(starts),
            tf.constant(place, tf.int64),
            tf.constant([int(e["label"]) for e in examples]) if with_labels else None,
        )


def choice_inputs(
    preprocessor: BertPreprocessor,
    contexts: tf.RaggedTensor,
    choices: tf.RaggedTensor,
    places: tf.Tensor,
    shape: tuple[int | tf.Tensor, int] | tf.Tensor,
) -> dict[str, tf.Tensor]:
    """Packs tokenized questions, in the TensorFlow graph.

    Args:
        preprocessor: a `BertPreprocessor`.
        contexts: int32 ragged `[B, (T)]`, token ids.
        choices: int32 ragged `[K, (T)]`, the token ids of all choices that aren't missing.
        places: int64 `[K, 2]`, the question of each choice and its index within that question.
        shape: `(B, C)`.

    Returns:
        A dict of int32 `[B, C, S]`, 0 throughout for a missing choice.
    """
    rows = preprocessor.pack(tf.gather(contexts, places[:, 0]), choices)  # [K, S]
    length = preprocessor.sequence_length
    inputs = {
        name: tf.scatter_nd(places, values, (*tf.unstack(tf.cast(shape, tf.int64)), length))
        for name, values in rows.items()
    }
    most = shape[1] if isinstance(shape, tuple) else None
    return {name: tf.ensure_shape(values, [None, most, length]) for name, values in inputs.items()}


def check_choices(examples: Sequence[dict], labelled: bool = False) -> None:
    """Raises a ValueError if an example is not a question, or a label not one of its choices."""
    if not len(examples):
        raise ValueError("There are no questions: give at least one.")
    for index, example in enumerate(examples):
        context, choices = (
            example.get(key) if isinstance(example, dict) else None
            for key in ("context", "choices")
        )
        is_list = isinstance(choices, (list, tuple, np.ndarray))
        if not isinstance(context, str) or not is_list or not all(map(_is_string, choices)):
            raise ValueError(
                "A question must be a dict of a string and a list of strings, {'context': ..., "
                f"'choices': [..., ...]}}; number {index} is {_shown(example)}."
            )
        there = [place for place, text in enumerate(choices) if text]
        if len(there) < 2:
            raise ValueError(
                f"Question {index} has {len(there)} non-empty choices: {_shown(list(choices))}. "
                "Give it two or more."
            )
        label = example.get("label")
        is_place = isinstance(label, numbers.Integral) and not isinstance(label, (bool, np.bool_))
        if labelled and not (is_place and label in there):
            raise ValueError(
                f"Question {index} has the label {label!r}, which is not the index of one of its "
                f"choices: {', '.join(map(str, there))}. Number the choices of each question from "
                "0."
            )


def with_labels(questions: Sequence[dict], labels: Labels) -> list[dict]:
    """Returns the questions with labels from a separate array."""
    if len(labels) != len(questions):
        raise ValueError(
            f"There are {len(questions)} questions but {len(labels)} labels: give one for each "
            "question."
        )
    return [
        {**question, "label": label} if isinstance(question, dict) else question
        for question, label in zip(questions, labels, strict=True)
    ]


def _is_string(value):
    return isinstance(value, str)


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
