"""Raw texts in all their forms. n texts, B texts of a batch."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sized
from typing import Any

import numpy as np

from keras_bert.messages import shown
from keras_bert.preprocessing.extra_inputs import input_array
from keras_bert.preprocessing.raw import Examples, as_arrays, is_dataset, is_single


@dataclasses.dataclass
class TextExamples:
    """Texts or pairs in memory, with the model's extra inputs.

    Attributes:
        columns: lists of n str: the texts, the second text of each, and so on.
        extra_inputs: a dict of arrays `[n, ...]`.
    """

    columns: tuple[list[str], ...]
    extra_inputs: dict[str, np.ndarray]

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, part):
        columns = tuple(column[part] for column in self.columns)
        return TextExamples(columns, {name: v[part] for name, v in self.extra_inputs.items()})


def text_examples(x: Examples, most: int = 2) -> TextExamples:
    """Reads texts in memory, in any form.

    Args:
        x: a string, a list, array or Series of strings, a tuple of two columns `(texts, texts)`, a
            list of pairs, an array `[n, 2]` or a DataFrame of two columns; or a dict with any of
            these as `text`, and the extra inputs, arrays `[n, ...]`. A list of two lists of two
            texts is a list of two pairs, with a warning.
        most: int, the most texts that one example may have.

    Raises:
        ValueError: if there are no texts, something is not a text, or lengths differ.
    """
    if isinstance(x, TextExamples):
        return x
    x, extra = split_inputs(as_arrays(x))
    extra = {name: input_array(name, values) for name, values in extra.items()}
    if is_single(x):
        extra = {name: v[None] if v.ndim < 2 else v for name, v in extra.items()}
    examples = TextExamples(text_columns(x, most), extra)
    for name, part in examples.extra_inputs.items():
        check_same_number(len(examples), part, f"rows of {name}")
    return examples


def check_same_number(number: int, part: Sized, name: str) -> None:
    """Raises a ValueError unless a part has one item for each text."""
    if getattr(part, "shape", None) == ():
        raise ValueError(
            f"There are {number} texts but a single value as {name}: give one per text."
        )
    if len(part) != number:
        raise ValueError(f"There are {number} texts but {len(part)} {name}: give one per text.")


def checked_text(name: str, text: Any) -> str:
    """Returns a text as a str; bytes that aren't UTF-8 become lone surrogates, which count as none.

    Raises:
        ValueError: if it is no text, or a str that UTF-8 can't encode.
    """
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    if not isinstance(text, str):
        raise ValueError(
            f"{name} is {shown(text)}, not a string. Leave it out, or give '' for none."
        )
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as found:
        raise ValueError(
            f"{name} has half a character, the lone surrogate {text[found.start]!r} at "
            f"{found.start}. Remove it: text.encode(errors='ignore').decode()."
        ) from found
    return str(text)


_MADE_FROM_TEXT = frozenset(("token_ids", "segment_ids", "padding_mask"))


def split_inputs(x: Any) -> tuple[Any, dict[str, Any]]:
    """Splits `x` into `(texts, extra inputs)`."""
    if not isinstance(x, dict):
        return x, {}
    if "text" not in x:
        raise ValueError(
            "A dict of raw examples must have its texts as 'text', for example {'text': texts, "
            f"'features': numbers}}; this one has {', '.join(map(repr, x))}."
        )
    made = _MADE_FROM_TEXT.intersection(x)
    if made:
        raise ValueError(
            f"The preprocessor makes {', '.join(sorted(made))} from the texts. Give the dict "
            "without them, or prepared inputs without 'text'."
        )
    return x["text"], {name: values for name, values in x.items() if name != "text"}


def _check_no_dataset(x):
    """Raises a ValueError if texts are a dataset, or the first two columns or texts hold one."""
    if any(map(is_dataset, x[:2] if isinstance(x, (list, tuple)) else [x])):
        raise ValueError(
            "A tf.data.Dataset can't be part of the examples. Make one dataset of all parts, with "
            "tf.data.Dataset.zip(texts, labels) for labels, or tf.data.Dataset.zip((texts, second "
            f"texts), labels) for pairs; got {shown(x)}."
        )


def text_columns(x: Any, most: int | None = None) -> tuple[list[str], ...]:
    """Converts texts, pairs, or examples of more texts to columns, lists of n str.

    Args:
        x: texts in memory, in any form that `text_examples` reads.
        most: int, the most columns; None for any number.

    Raises:
        ValueError: if there are no texts, something is not a text, or lengths differ.
    """
    x = as_arrays(x)
    _check_no_dataset(x)
    columns = _columns(x)
    if most is not None and len(columns) > most:
        expected = "single or in pairs" if most == 2 else f"at most {most} together"
        raise ValueError(
            f"Texts must be {expected}; got {len(columns)} together. Give a list of texts, "
            "a list of pairs (text, second text), or a tuple of two columns (texts, second texts)."
        )
    for part in columns[1:]:
        check_same_number(len(columns[0]), part, "second texts")
    return columns


def _columns(x):
    """Converts `x` to a tuple of lists of str."""
    if isinstance(x, (str, bytes)) or (isinstance(x, tuple) and all(map(_is_text, x))):
        x = [x] if x != () else []
    elif not isinstance(x, (list, tuple)):
        x = np.atleast_1d(x)
    if isinstance(x, tuple) and any(map(_is_single, x)):
        raise ValueError(f"A tuple must hold two lists or arrays of texts; got {shown(x)}.")
    if not len(x) or not len(x[0] if isinstance(x, tuple) else x):
        raise ValueError("There are no texts: give at least one.")
    if not isinstance(x, tuple):
        widths = {len(row) if _is_row(row) else 0 for row in x}
        if len(widths) > 1:
            raise ValueError(
                "Some texts are pairs and others are not; give all of them a second text, or none."
            )
        _warn_of_two_by_two(x)
        x = zip(*x, strict=True) if widths != {0} else (x,)
    return tuple(map(_strings, x))


def _warn_of_two_by_two(x):
    """Warns of `[[a, b], [c, d]]`, which may be two pairs or Keras's `x=[first, second]`."""
    is_list = isinstance(x, list) and not any(isinstance(row, tuple) for row in x)
    if is_list and len(x) == 2 and all(_is_row(row) and len(row) == 2 for row in x):
        (a, b), (c, d) = ([shown(_plain(text), 40) for text in row] for row in x)
        warnings.warn(
            "A list of two lists of two texts is read as two pairs: "
            f"{a} with {b}, {c} with {d}. Write pairs as tuples, "
            f"[({a}, {b}), ({c}, {d})], and two columns as a tuple of lists, "
            f"([{a}, {b}], [{c}, {d}]).",
            stacklevel=2,
        )


def _plain(text):
    return str(text) if isinstance(text, str) else text  # NumPy's repr names its type


def _strings(column):
    if _is_text(column) or not hasattr(column, "__iter__"):
        raise ValueError(
            f"Texts must be a list or an array of strings, or a tuple of two; got {shown(column)}."
        )
    if hasattr(column, "numpy"):  # a tensor
        column = column.numpy()
    texts = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [checked_text(f"Text {index}", text) for index, text in enumerate(texts)]


def _is_row(value):
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _is_single(part):
    return getattr(part, "shape", None) == () or not hasattr(part, "__len__")


def _is_text(value):
    return isinstance(value, (str, bytes))
