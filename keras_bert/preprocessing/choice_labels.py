"""Labels of questions with choices: indices, in memory, and in TensorFlow's graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.messages import shown
from keras_bert.preprocessing.class_labels import label_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from keras_bert.preprocessing.raw import Labels


def choice_targets(labels: Labels, inputs: Mapping[str, npt.ArrayLike] | None = None) -> Labels:
    """Checks indices of choices `[B]`, also by prepared inputs `[B, C, S]`, and returns them."""
    array = label_array(labels)
    if array.ndim != 1 and array.shape[1:] != (1,):
        return labels
    array, is_there = array.reshape(-1), None
    is_right = np.zeros(len(array), "bool")
    if np.issubdtype(array.dtype, np.integer):
        is_right = array >= 0
    if isinstance(inputs, dict) and is_right.all():
        is_there = np.ones(np.shape(inputs["token_ids"])[:2], "bool")  # [B, C]
        if inputs.get("padding_mask") is not None:
            is_there = np.asarray(inputs["padding_mask"]).any(axis=-1)
        is_right = array < is_there.shape[1]
        is_right &= is_there[np.arange(len(array)), np.where(is_right, array, 0)]
    if not is_right.all():
        row = int(np.argmin(is_right))
        own = [] if is_there is None else np.flatnonzero(is_there[row])
        raise ValueError(
            f"The label of question {row} must be the index of one of its choices, "
            f"{', '.join(map(str, own)) or '0 for the first'}; got {shown(array.tolist()[row])}."
        )
    return labels


def with_choice_check(dataset: Any) -> Any:
    """Makes a `tf.data.Dataset` raise an error at a label that isn't the index of a choice."""
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted, map_labels

    def check(inputs, labels):
        tokens = inputs["token_ids"]
        tokens = inputs.get("padding_mask", tf.ones_like(tokens))  # [B, C, S]
        is_there = tf.reduce_any(tf.cast(tokens, tf.bool), axis=-1)  # [B, C]
        flat = tf.reshape(tf.cast(labels, tf.int64), [-1])
        is_chosen = tf.one_hot(flat, tf.shape(is_there)[1], True, False, dtype=tf.bool)
        is_right = tf.reduce_any(is_chosen & is_there, axis=-1)
        message = "Labels must be indices of choices, from 0 in each question. Others:"
        return asserted(labels, is_right, message)

    return map_labels(dataset, check)
