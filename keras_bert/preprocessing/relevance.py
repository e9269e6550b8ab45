"""Relevance of documents to queries, as labels. Needs TensorFlow for datasets only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.preprocessing.raw import number_array

if TYPE_CHECKING:
    from keras_bert.preprocessing.raw import Labels

_OUTSIDE = (
    "Binary cross-entropy takes a relevance from 0 to 1: divide grades by the highest. For a "
    "teacher's scores, compile with loss='mean_squared_error'; for the margins of (query, "
    "positive, negative), with loss=MarginMeanSquaredError()"
)


def relevance_targets(labels: Labels) -> np.ndarray:
    """Converts relevance, a teacher's scores or margins, `[n]` or `[n, D]`, to float32."""
    expected = "a number for each example"
    return number_array("Relevance", labels, expected, lambda shape: len(shape) in (1, 2))


def check_relevance(labels: Labels) -> None:
    """Raises a ValueError if a relevance is outside 0 to 1, for binary cross-entropy."""
    targets = relevance_targets(labels)
    outside = np.argwhere((targets < 0) | (targets > 1))
    if outside.size:
        value = targets[tuple(outside[0])]
        raise ValueError(f"{_OUTSIDE}. That of example {outside[0][0]} is {value:g}.")


def with_relevance_check(dataset: Any) -> Any:
    """Makes a `tf.data.Dataset` of `(inputs, relevance)` raise an error outside 0 to 1."""
    from keras_bert.graph.datasets import asserted, map_labels

    def check(_, labels):
        return asserted(labels, (labels >= 0) & (labels <= 1), _OUTSIDE + ". Others:")

    return map_labels(dataset, check)
