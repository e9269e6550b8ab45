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
    if not array.size or not (array.ndim == 1 or array.shape[1:] == (1,)):
        return labels
    if not np.issubdtype(array.dtype, np.integer) or array.min() < 0:
        flat = array.reshape(-1)
        wrong = flat[:1] if flat.dtype.kind in "OSU" else flat.min(keepdims=True)
        raise ValueError(
            f"Labels must be indices of choices, 0 for the first; got {shown(wrong.tolist()[0])}."
        )
    if isinstance(inputs, dict):
        _check_chosen(inputs, array.reshape(-1))
    return labels


def checked_choices(dataset: Any) -> Any:
    """Makes a `tf.data.Dataset` raise an error at a label that isn't the index of a choice.

    A model can't detect such a label: its loss would be NaN or 1e9. See `checked_labels`.
    """
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted, map_checked

    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2 or not isinstance(spec[0], dict):
        raise ValueError(
            "The dataset must yield (inputs, label), as BertMultipleChoice.batches returns them."
        )
    message = "Labels must be indices of choices, from 0 in each question. Others:"

    def check(inputs, labels, *weights):
        tokens = inputs["token_ids"]
        tokens = inputs.get("padding_mask", tf.ones_like(tokens))  # [B, C, S]
        is_there = tf.reduce_any(tf.cast(tokens, tf.bool), axis=-1)  # [B, C]
        flat = tf.reshape(tf.cast(labels, tf.int64), [-1])
        is_chosen = tf.one_hot(flat, tf.shape(is_there)[1], True, False, dtype=tf.bool)
        is_right = tf.reduce_any(is_chosen & is_there, axis=-1)
        return (inputs, asserted(labels, is_right, message), *weights)

    return map_checked(dataset, check)


def _check_chosen(inputs, labels):
    """Raises a ValueError if a label of `[B]` is out of range, or its choice is missing."""
    padding_mask = inputs.get("padding_mask")
    tokens = inputs["token_ids"] if padding_mask is None else padding_mask
    tokens = np.asarray(tokens)  # [B, C, S]
    is_there = np.ones(tokens.shape[:2], "bool") if padding_mask is None else tokens.any(axis=-1)
    inside = labels < is_there.shape[1]
    chosen = is_there[np.arange(len(labels)), np.where(inside, labels, 0)] & inside
    if not chosen.all():
        row = int(np.argmin(chosen))
        raise ValueError(
            f"The label of question {row} must be the index of one of its choices, "
            f"{', '.join(map(str, np.flatnonzero(is_there[row])))}; got {labels[row]}."
        )
