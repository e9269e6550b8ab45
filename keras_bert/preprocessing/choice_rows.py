"""Questions with choices as rows for the model. B questions, C choices each, K in total."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.text_rows import packed
from keras_bert.text.tokens import SegmentPacker, Tokens, numbered

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
    from keras_bert.preprocessing.raw import Labels


@dataclasses.dataclass
class ChoiceRows:
    """Questions, with each choice as `[CLS] context [SEP] choice [SEP]`.

    Questions may differ in the number of their choices. Each gets as many rows as the question
    with the most choices; the rows of missing choices are empty.

    Attributes:
        packer: a `SegmentPacker`.
        num_choices: int, C, the largest number of choices of a question.
        contexts: `Tokens` `[B]`.
        choices: `Tokens` `[K]`, the choices that aren't "".
        counts: int64 `[B]`, the number of these of each question.
        places: int64 `[K]`, the index of each choice within its question.
        texts: B lists of str, the choices; None in a graph.
        labels: int64 `[B]`, the indices of the right choices; or None.
    """

    packer: SegmentPacker
    num_choices: Any
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
        shape, places = (ops.size(rows), self.num_choices), ops.take(self.places, choice)
        inputs = {name: ops.put(shape, (question, places), x) for name, x in inputs.items()}
        return (inputs,) if self.labels is None else (inputs, self.labels[rows])


def choice_rows(
    examples: list[dict], preprocessor: BertPreprocessor, with_labels: bool
) -> ChoiceRows:
    """Reads questions as `ChoiceRows`; a choice of "" is missing."""
    check_choices(examples, with_labels)
    texts = [list(example["choices"]) for example in examples]
    there = [[place for place, text in enumerate(choices) if text] for choices in texts]
    chosen = [choices[place] for choices, own in zip(texts, there, strict=True) for place in own]
    return ChoiceRows(
        preprocessor.packer,
        max(map(len, texts)),
        preprocessor.tokenized([example["context"] for example in examples]),
        preprocessor.tokenized(chosen),
        np.array([*map(len, there)], "int64"),
        np.concatenate(there).astype("int64"),
        texts,
        np.array([int(e["label"]) for e in examples], "int32") if with_labels else None,
    )


def check_choices(examples: Sequence[dict], labelled: bool = False) -> None:
    """Raises a ValueError if an example is not a question, or a label not one of its choices."""
    for index, example in enumerate(examples):
        given = example if isinstance(example, dict) else {}
        context, choices, label = map(given.get, ("context", "choices", "label"))
        is_list = isinstance(choices, (list, tuple, np.ndarray))
        strings = [context, *choices] if is_list else [None]
        there = [n for n, text in enumerate(strings[1:]) if isinstance(text, str) and text]
        if not all(isinstance(text, str) for text in strings) or len(there) < 2:
            raise ValueError(
                "A question must be a dict of a string and of two or more strings, {'context': "
                f"..., 'choices': [..., ...]}}; number {index} is {shown(example)}."
            )
        is_place = isinstance(label, numbers.Integral) and not isinstance(label, (bool, np.bool_))
        if labelled and not (is_place and label in there):
            raise ValueError(
                f"The label of question {index} must be the index of one of its choices, "
                f"{', '.join(map(str, there))}; got {label!r}."
            )


def with_labels(questions: Sequence[dict], labels: Labels) -> list[dict]:
    """Returns the questions with labels from a separate array."""
    check_one_each(len(questions), "questions", labels=labels)
    return [
        {**question, "label": label} if isinstance(question, dict) else question
        for question, label in zip(questions, labels, strict=True)
    ]
