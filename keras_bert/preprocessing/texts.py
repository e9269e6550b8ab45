"""Texts in memory, in any form, as columns of str. n texts."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing.checked_numbers import extra_input_array
from keras_bert.preprocessing.forms import (
    ExampleList,
    Examples,
    as_arrays,
    is_dataset,
    is_frame,
    is_single,
    is_text,
    take,
)
from keras_bert.text.base_tokenizer import as_str

CHARACTERS_AT_ONCE = 2**23


@dataclasses.dataclass
class TextExamples(ExampleList):
    """Examples in memory: texts, or tuples of them; with extra inputs, dicts of both."""

    columns: tuple[list[str], ...]  # n texts, the second text of each, and so on
    extra_inputs: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)  # `[n, ...]`

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, part):
        texts, extra_inputs = take((self.columns, self.extra_inputs), part)
        if isinstance(part, slice):
            return TextExamples(texts, extra_inputs)
        text = texts if len(texts) > 1 else texts[0]
        return {"text": text, **extra_inputs} if extra_inputs else text


def in_parts(examples: Any, size: int = 1024) -> Iterator[Any]:
    """Cuts examples, a sequence that a preprocessor's `listed` returned, into parts.

    A part has at most `size` examples, with at most 8 million characters unless it is only one;
    sentences of words are cut between documents.
    """
    if hasattr(examples, "parts"):
        yield from examples.parts(size)
        return
    if isinstance(examples, TextExamples):
        texts = zip(*examples.columns, strict=True)
    else:
        texts = map(_texts_of_question, examples)
    lengths = [sum(map(len, example)) for example in texts]
    ends = np.cumsum([0, *lengths])
    start = 0
    while start < max(len(examples), 1):
        most = ends[start] + CHARACTERS_AT_ONCE
        end = int(np.searchsorted(ends, most, "right")) - 1
        end = min(max(end, start + 1), start + size)
        yield examples[start:end]
        start = end


def _texts_of_question(question):
    return [value for value in question.values() if isinstance(value, str)]


def text_examples(x: Examples, most: float = 2) -> TextExamples:
    """Reads texts in memory, in any form, up to `most` of them in an example.

    `x` is a string, a list, array or Series of strings, a tuple of two columns `(texts, texts)`, a
    list of pairs, an array `[n, 2]` or a DataFrame of two columns; or a dict with any of these as
    `text`, and extra inputs `[n, ...]`.
    """
    if isinstance(x, TextExamples):
        return x
    x, extra_inputs = split_inputs(x)
    columns = text_columns(x, most)
    for name, values in extra_inputs.items():
        values = extra_input_array(name, values)
        if is_single(x) and values.ndim < 2:
            values = values[None]
        check_one_each(len(columns[0]), "texts", **{f"rows of {name}": values})
        extra_inputs[name] = values
    return TextExamples(columns, extra_inputs)


_MADE_FROM_TEXT = frozenset(("token_ids", "segment_ids", "padding_mask"))


def split_inputs(x: Any) -> tuple[Any, dict[str, Any]]:
    """Splits `x` into `(texts, extra inputs)`."""
    if not isinstance(x, dict):
        return x, {}
    if "text" not in x:
        raise _without_names_of_texts(x)
    made = _MADE_FROM_TEXT.intersection(x)
    if made:
        raise ValueError(f"The preprocessor makes {min(made)} from the texts: leave it out.")
    extra_inputs = dict(x)
    text = extra_inputs.pop("text")
    return text, extra_inputs


def text_columns(x: Any, most: float = math.inf) -> tuple[list[str], ...]:
    """Converts texts, pairs, or examples of up to `most` texts to columns, lists of n str."""
    if any(map(is_dataset, x[:2] if isinstance(x, (list, tuple)) else [x])):
        raise ValueError(
            "A tf.data.Dataset can't be part of the examples: make one dataset of all, with "
            "tf.data.Dataset.zip(texts, labels), or ((texts, second texts), labels) for pairs, and "
            "give it to a verb of a task, such as fit, predict or batches."
        )
    first = x[0] if isinstance(x, list) and x else x
    if isinstance(first, dict) or (is_frame(x) and _names_several(x.columns)):
        raise _without_names_of_texts(first)
    columns = _columns([x] if is_single(x) else as_arrays(x))
    check_texts(columns, most)
    for part in columns[1:]:
        check_one_each(len(columns[0]), "texts", **{"second texts": part})
    return columns


def _names_several(columns):
    return len(columns) > 1 and any(isinstance(name, str) for name in columns)


def _without_names_of_texts(table):
    names = [*map(str, getattr(table, "columns", table))]
    return ValueError(
        f"The columns {', '.join(names)} don't say which are the texts: call them 'text', or "
        f"'sentence1' and 'sentence2', or give table[{names[-1]!r}], or a tuple of two columns."
    )


def check_texts(columns: tuple, most: float) -> None:
    """Raises a ValueError if examples have more than `most` texts."""
    if len(columns) > most:
        most = "1 text" if most == 1 else f"{most} texts"
        raise ValueError(
            f"An example has up to {most}; got {len(columns)} together. Pairs are a list of "
            "tuples, or a tuple of two columns. Batches of a generator are arrays."
        )


def _columns(x):
    """Converts `x` to a tuple of lists of str."""
    if not isinstance(x, (list, tuple)):
        x = np.atleast_1d(x)
    if not isinstance(x, tuple):
        widths = {len(row) if _is_row(row) else 0 for row in x}
        if len(widths) > 1:
            raise ValueError(
                "Some texts are pairs and others are not; give all of them a second text, or none. "
                "A stream yields one example at a time; its batches are arrays, or tuples of them."
            )
        x = zip(*x, strict=True) if any(widths) else [x]
    columns = tuple(map(_strings, x))
    if not columns or not columns[0]:
        raise ValueError("There are no texts: give at least one.")
    return columns


def _strings(column):
    if is_text(column) or not hasattr(column, "__iter__"):
        raise ValueError(
            f"Texts must be a list or an array of strings, or a tuple of two; got {shown(column)}."
        )
    if hasattr(column, "numpy"):  # a tensor
        column = column.numpy()
    texts = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [as_str(f"Text {index}", text) for index, text in enumerate(texts)]


def _is_row(value):
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1
