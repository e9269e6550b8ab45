"""Relevance of documents to queries, as labels. Needs TensorFlow for datasets only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.messages import check_all_finite, shown
from keras_bert.preprocessing.raw import as_floats

if TYPE_CHECKING:
    from keras_bert.preprocessing.raw import Labels

_OUTSIDE = (
    "Binary cross-entropy takes a relevance from 0 to 1: divide grades by the highest. For a "
    "teacher's scores, compile with loss='mean_squared_error'; for the margins of (query, "
    "positive, negative), with loss=MarginMeanSquaredError()"
)


def relevance_targets(labels: Labels) -> np.ndarray:
    """Converts relevance, a teacher's scores or margins, `[n]` or `[n, D]`, to float32."""
    try:
        targets = as_floats(labels)
    except (TypeError, ValueError):  # lists of different lengths, or objects that are no numbers
        targets = None
    if targets is None or targets.ndim not in (1, 2):
        raise ValueError(f"Relevance must be a number for each example; got {shown(labels)}.")
    check_all_finite("Relevance", targets, "Leave the example out.")
    return targets


def check_relevance(labels: Labels) -> None:
    """Raises a ValueError if a relevance is outside 0 to 1, for binary cross-entropy."""
    targets = relevance_targets(labels)
    outside = np.argwhere((targets < 0) | (targets > 1))
    if outside.size:
        value = targets[tuple(outside[0])]
        raise ValueError(f"{_OUTSIDE}. That of example {outside[0][0]} is {value:g}.")


def checked_relevance(dataset: Any) -> Any:
    """Makes a `tf.data.Dataset` of `(inputs, relevance)` raise an error outside 0 to 1."""
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted, map_checked

    if not isinstance(dataset, tf.data.Dataset) or not isinstance(dataset.element_spec, tuple):
        return dataset

    def check(x, labels, *rest):
        is_inside = (labels >= 0) & (labels <= 1)
        return (x, asserted(labels, is_inside, _OUTSIDE + ". Others:"), *rest)

    return map_checked(dataset, check)
