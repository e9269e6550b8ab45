"""Checks of questions with choices and of their labels. B questions, C choices each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.checked_numbers import checked
from keras_bert.preprocessing.class_labels import label_array
from keras_bert.preprocessing.raw import Labels, check_each
from keras_bert.preprocessing.text_rows import ops_of


def check_choices(examples: list) -> None:
    """Raises a ValueError if something is not a question with choices."""
    check_each(
        examples,
        _is_question,
        "A question must be a dict of a string and of two or more strings, {'context': ..., "
        "'choices': [..., ...]}",
    )


def _is_question(example):
    given = example if isinstance(example, dict) else {}
    context, choices = given.get("context"), given.get("choices")
    is_list = isinstance(choices, (list, tuple, np.ndarray))
    strings = [context, *choices] if is_list else [None]
    return all(isinstance(text, str) for text in strings) and sum(map(bool, strings[1:])) > 1


def choice_targets(labels: Labels, inputs: Mapping[str, npt.ArrayLike] | None = None) -> Labels:
    """Checks indices of choices `[B]`, also by prepared inputs `[B, C, S]`, and returns them."""
    array = label_array(labels)
    if array.ndim == 1 or array.shape[1:] == (1,):  # others are probabilities
        is_there = None
        if isinstance(inputs, dict):
            mask = inputs.get("padding_mask")
            mask = np.ones(np.shape(inputs["token_ids"])) if mask is None else np.asarray(mask)
            is_there = mask.any(axis=-1)
        checked_places(array.reshape(-1), is_there)
    return labels


def checked_places(labels: Any, is_there: Any = None) -> Any:
    """Checks that labels `[B]`, an array or a tensor, are indices; of choices `[B, C]` there."""

    def are_places(labels):
        if is_there is None:
            return (labels >= 0) & (labels % 1 == 0)
        ops = ops_of(labels)
        places = ops.cast(ops.arange(ops.width(is_there)), "float64")
        return ops.row_sums((labels[:, None] == places) & is_there) > 0

    return checked(
        labels,
        are_places,
        "Labels must be indices of choices that are there, from 0 in each question",
    )


def with_choice_check(dataset: Any) -> Any:
    """Makes a `tf.data.Dataset` raise an error at a label that isn't the index of a choice."""
    import tensorflow as tf

    from keras_bert.graph.datasets import map_labels

    def check(inputs, labels):
        tokens = inputs.get("padding_mask", tf.ones_like(inputs["token_ids"]))  # [B, C, S]
        is_there = tf.reduce_any(tf.cast(tokens, tf.bool), axis=-1)  # [B, C]
        flat = checked_places(tf.reshape(labels, [-1]), is_there)
        return tf.ensure_shape(tf.reshape(flat, tf.shape(labels)), labels.shape)

    return map_labels(dataset, check)
