"""Rows for the model, as all preprocessors make them."""

from typing import Protocol

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching


class Rows(Protocol):
    """Rows that a preprocessor's `read` makes of raw examples in memory.

    `TextRows`, `TaggedRows`, `TextWords`, `QuestionWindows` and `ChoiceRows` are such rows.
    """

    def num_tokens(self) -> np.ndarray:
        """Returns an array of the number of tokens of each row."""

    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs,)`, `(inputs, labels)` or `(inputs, labels, weights)`.

        Args:
            rows: `[B]`, row numbers.
            batching: a `Batching` from `for_rows`.
        """


def row_lengths(ragged: tf.RaggedTensor) -> np.ndarray:
    """Returns an array `[N]`, the number of values in each row of an eager ragged tensor.

    The tensor's own method runs several eager ops, which take too long for a single text.
    """
    return np.diff(ragged.row_splits.numpy())
