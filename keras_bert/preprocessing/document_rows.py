"""Queries with their documents as rows for the model. n examples, D documents of each."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.rows import row_lengths
from keras_bert.preprocessing.text_rows import TextRows


@dataclasses.dataclass
class DocumentRows(TextRows):
    """Queries, each with the same number of documents, as `[CLS] query [SEP] document [SEP]`.

    The columns are the queries and then D columns of documents. Inputs are `[B, D, S]`.
    """

    @property
    def num_documents(self) -> int:
        """D."""
        return len(self.columns) - 1

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[n]`, the number of tokens of each example's longest pair."""
        queries, *documents = map(row_lengths, self.columns)
        lengths = 3 + queries + np.max(documents, axis=0)
        return np.minimum(lengths, self.preprocessor.sequence_length)

    def inputs(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """Makes the model's inputs, a dict of `[B, D, S]`, for rows by number, `[B]`."""
        queries, *documents = (tf.gather(column, rows) for column in self.columns)
        pairs = [self.preprocessor.pack(queries, column) for column in documents]
        return {name: tf.stack([pair[name] for pair in pairs], axis=1) for name in pairs[0]}
