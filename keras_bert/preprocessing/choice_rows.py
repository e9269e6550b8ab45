"""Questions with choices, as rows and labels. B questions, C choices each, K in total."""

import dataclasses
import itertools
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.class_labels import label_array
from keras_bert.preprocessing.raw import Labels, check_each
from keras_bert.preprocessing.text_rows import packed
from keras_bert.text.tokens import SegmentPacker, Tokens, numbered


@dataclasses.dataclass
class ChoiceRows:
    """Questions, with each choice as `[CLS] context [SEP] choice [SEP]`.

    Questions may differ in the number of their choices. Each gets as many rows as the question
    with the most choices; the rows of missing choices are empty.

    Attributes:
        packer: a `SegmentPacker`.
        num_sequences: int, C, the largest number of choices of a question.
        contexts: `Tokens` `[B]`.
        choices: `Tokens` `[K]`, the choices that aren't "".
        counts: int64 `[B]`, the number of these of each question.
        places: int64 `[K]`, the index of each choice within its question.
        texts: B lists of str, the choices; None in a graph.
        labels: int64 `[B]`, the indices of the right choices; or None.
    """

    packer: SegmentPacker
    num_sequences: Any
    contexts: Tokens
    choices: Tokens
    counts: Any
    places: Any
    texts: list[list[str]] | None = None
    labels: np.ndarray | None = None

    def num_tokens(self) -> np.ndarray:
        ops = self.contexts.ops
        question, _ = numbered(self.counts, ops)
        lengths = self.packer.lengths(self.contexts.take(question), self.choices)
        return ops.segment_max(lengths, question, ops.size(self.counts))  # of the longest pair

    def batch(self, rows: Any, batching: Batching) -> tuple:
        """Makes `(inputs,)`, `[B, C, S]` each, or `(inputs, labels)`, of questions `[B]`."""
        ops = self.contexts.ops
        question, number = numbered(ops.take(self.counts, rows), ops)
        starts = ops.take(ops.cumsum(self.counts) - self.counts, rows)
        choice = ops.take(starts, question) + number
        pairs = self.contexts.take(ops.take(rows, question)), self.choices.take(choice)
        [inputs] = packed([pairs], self.packer, batching)
        shape, places = (ops.size(rows), self.num_sequences), ops.take(self.places, choice)
        inputs = {name: ops.put(shape, (question, places), x) for name, x in inputs.items()}
        return (inputs,) if self.labels is None else (inputs, self.labels[rows])


def choice_rows(
    examples: list[dict], preprocessor: Any, labels: Labels | None = None
) -> ChoiceRows:
    """Reads questions as `ChoiceRows`; a choice of "" is missing."""
    check_each(
        examples,
        _is_question,
        "A question must be a dict of a string and of two or more strings, {'context': ..., "
        "'choices': [..., ...]}",
    )
    texts = [list(example["choices"]) for example in examples]
    there = [[place for place, text in enumerate(choices) if text] for choices in texts]
    if labels is not None:
        check_one_each(len(examples), "questions", labels=labels)
        _check_places(labels, there)
        labels = np.array([*map(int, labels)], "int32")
    chosen = [choices[place] for choices, own in zip(texts, there, strict=True) for place in own]
    return ChoiceRows(
        preprocessor.packer,
        max(map(len, texts)),
        preprocessor.tokenized([example["context"] for example in examples]),
        preprocessor.tokenized(chosen),
        np.array([*map(len, there)], "int64"),
        np.concatenate(there).astype("int64"),
        texts,
        labels,
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
    if array.ndim == 1 or array.shape[1:] == (1,):
        there = itertools.repeat(None)
        if isinstance(inputs, dict):
            padding_mask = inputs.get("padding_mask")
            is_there = (
                np.ones(np.shape(inputs["token_ids"])) if padding_mask is None else padding_mask
            )
            there = [np.flatnonzero(row).tolist() for row in np.asarray(is_there).any(axis=-1)]
        _check_places(array.reshape(-1).tolist(), there)
    return labels


def _check_places(labels, there):
    for number, (label, places) in enumerate(zip(labels, there, strict=False)):
        is_index = isinstance(label, numbers.Integral) and not isinstance(label, (bool, np.bool_))
        is_index = is_index and 0 <= label < 2**31
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
