"""Texts as the rows that a model reads. n texts, N rows."""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.overlapping_windows import overlapping_windows
from keras_bert.preprocessing.padding import trimmed


@dataclasses.dataclass
class TextRows:
    """A row for each text or pair, or several windows of each long text.

    Attributes:
        preprocessor: a `BertPreprocessor`.
        columns: one or two int32 ragged `[N, (T)]`, token ids.
        counts: int64 `[n]`, how many windows each text has; None if each text is a row.
        extra_inputs: a dict of tensors `[n, ...]`.
        targets: a tuple of tensors `[n, ...]`, or dicts of them: labels and weights, if any.
    """

    preprocessor: object
    columns: tuple
    counts: tf.Tensor | None = None
    extra_inputs: dict = dataclasses.field(default_factory=dict)
    targets: tuple = ()

    def num_tokens(self) -> np.ndarray:
        """`[N]`, an array: how many tokens of each row are not padding."""
        lengths = 1 + len(self.columns) + sum(c.row_lengths().numpy() for c in self.columns)
        return np.minimum(lengths, self.preprocessor.sequence_length)

    def inputs(self, rows):
        """The model's inputs for the rows of these numbers, `[B]`: a dict of `[B, ...]`."""
        inputs = self.preprocessor.pack(*(tf.gather(column, rows) for column in self.columns))
        texts = self._texts(rows)
        return {**inputs, **{n: tf.gather(v, texts) for n, v in self.extra_inputs.items()}}

    def batch(self, rows, batching):
        """`(inputs,)`, `(inputs, labels)` or `(inputs, labels, weights)` of these rows."""
        texts = self._texts(rows)
        targets = tf.nest.map_structure(lambda values: tf.gather(values, texts), self.targets)
        return (trimmed(self.inputs(rows), batching), *targets)

    def _texts(self, rows):
        if self.counts is None:
            return rows
        return tf.gather(tf.repeat(tf.range(tf.size(self.counts)), self.counts), rows)


def windowed(rows, window_stride):
    """Cuts the texts of `TextRows` into overlapping windows."""
    if len(rows.columns) > 1:
        raise ValueError(
            "Windows are cut from single texts, and these are pairs. Make the model with "
            "window_stride=None, which cuts a pair to fit, or join the two texts."
        )
    room = rows.preprocessor.sequence_length - 2
    windows, counts = overlapping_windows(rows.columns[0], room, window_stride)
    return dataclasses.replace(rows, columns=(windows,), counts=counts)


def check_window_stride(window_stride, sequence_length):
    """Raises a ValueError if windows so far apart would leave tokens out."""
    if not 1 <= window_stride <= sequence_length - 2:
        raise ValueError(
            f"window_stride must be from 1 to {sequence_length - 2}, the tokens that fit between "
            f"[CLS] and [SEP] in sequence_length={sequence_length}; got {window_stride}."
        )
