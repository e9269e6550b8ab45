"""Checks of questions with choices and of their labels. B questions, C choices each."""

import itertools
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import shown
from keras_bert.preprocessing.class_labels import label_array
from keras_bert.preprocessing.raw import Labels, check_each


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
    is_one_each = array.ndim == 1 or array.shape[1:] == (1,)
    if is_one_each or array.dtype.kind != "f":
        is_there = itertools.repeat(None)
        if isinstance(inputs, dict):
            mask = inputs.get("padding_mask")
            mask = np.ones(np.shape(inputs["token_ids"])) if mask is None else np.asarray(mask)
            is_there = mask.any(axis=-1)
        check_places((array.reshape(-1) if is_one_each else array).tolist(), is_there)
    return labels


def check_places(labels: list, is_there: Iterable[Any]) -> None:
    """Raises a ValueError unless labels are indices; of choices that are there, if not None."""
    for number, (label, own) in enumerate(zip(labels, is_there, strict=False)):
        is_index = isinstance(label, numbers.Integral) and not isinstance(label, (bool, np.bool_))
        is_index = is_index and 0 <= label < 2**31
        places = None if own is None else np.flatnonzero(own).tolist()
        if not is_index or (places is not None and label not in places):
            known = ", ".join(map(str, places)) if is_index else "0 for the first"
            raise ValueError(
                f"The label of question {number} must be the index of one of its choices, {known}; "
                f"got {shown(label)}."
            )


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
