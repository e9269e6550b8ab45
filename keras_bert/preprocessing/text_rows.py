"""Texts as rows for the model. n texts, N rows."""

from __future__ import annotations

import dataclasses
import numbers
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.overlapping_windows import overlapping_windows
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.rows import row_lengths

if TYPE_CHECKING:  # which imports this module
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


@dataclasses.dataclass
class TextRows:
    """Rows of texts: one for each text or pair, or several windows of a long text.

    Attributes:
        preprocessor: a `BertPreprocessor`.
        columns: one or two int32 ragged `[N, (T)]`, token ids.
        counts: int64 `[n]`, the number of windows of each text; None if each text is one row.
        extra_inputs: a dict of tensors `[n, ...]`.
        targets: a tuple of labels and weights, if any: tensors `[n, ...]` or dicts of them.
    """

    preprocessor: BertPreprocessor
    columns: tuple[tf.RaggedTensor, ...]
    counts: tf.Tensor | None = None
    extra_inputs: dict[str, tf.Tensor] = dataclasses.field(default_factory=dict)
    targets: tuple = ()

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[N]`, the number of tokens of each row without padding."""
        lengths = 1 + len(self.columns) + sum(map(row_lengths, self.columns))
        return np.minimum(lengths, self.preprocessor.sequence_length)

    def inputs(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Makes the model's inputs, a dict of `[B, ...]`, for rows by number, `[B]`."""
        inputs = self.preprocessor.pack(*(tf.gather(column, rows) for column in self.columns))
        texts = self._texts(rows)
        return {**inputs, **{n: tf.gather(v, texts) for n, v in self.extra_inputs.items()}}

    @in_graph
    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs,)`, `(inputs, labels)` or `(inputs, labels, weights)` of rows."""
        texts = self._texts(rows)
        targets = tf.nest.map_structure(lambda values: tf.gather(values, texts), self.targets)
        return (trimmed(self.inputs(rows), batching), *targets)

    def _texts(self, rows):
        if self.counts is None:
            return rows
        return tf.gather(tf.repeat(tf.range(tf.size(self.counts)), self.counts), rows)


@in_graph
def windowed(rows: TextRows, window_stride: int) -> TextRows:
    """Cuts the texts of `TextRows` into overlapping windows."""
    if len(rows.columns) > 1:
        raise ValueError(
            "Windows need single texts; got pairs. Make the model with window_stride=None, which "
            "truncates a pair, or join the two texts."
        )
    room = rows.preprocessor.sequence_length - 2
    windows, counts = overlapping_windows(rows.columns[0], room, window_stride)
    return dataclasses.replace(rows, columns=(windows,), counts=counts)


def check_window_stride(window_stride: int, sequence_length: int) -> None:
    """Raises a ValueError if windows with this stride would skip tokens."""
    is_int = isinstance(window_stride, numbers.Integral)
    if not is_int or not 1 <= window_stride <= sequence_length - 2:
        raise ValueError(
            f"window_stride must be from 1 to {sequence_length - 2}, the tokens that fit between "
            f"[CLS] and [SEP] in sequence_length={sequence_length}; got {window_stride!r}."
        )
