"""Raw texts in all their forms. n texts, B texts of a batch."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sized
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.messages import shown
from keras_bert.preprocessing.model_inputs import input_array
from keras_bert.preprocessing.raw import Examples, as_arrays, is_dataset, is_single


@dataclasses.dataclass
class TextExamples:
    """Texts or pairs in memory, with the model's extra inputs.

    Attributes:
        columns: string tensors `[n]`: the texts, the second text of each, and so on.
        extra_inputs: a dict of arrays `[n, ...]`.
    """

    columns: tuple[tf.Tensor, ...]
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
    x, extra = _split(as_arrays(x))
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


def text_batches(
    dataset: tf.data.Dataset, batch_size: int, with_labels: bool, most: int = 2
) -> tf.data.Dataset:
    """Converts a `tf.data.Dataset` of texts to a uniform structure.

    Args:
        dataset: texts, `(text, label)` or `(text, label, weight)`, batched or not. A text is a
            string, a pair `(string, string)`, or a dict with either as `text`, and extra inputs.
            Batches of pairs may also be `[B, 2]`.
        batch_size: int, for a dataset without batches.
        with_labels: bool. With labels, two bare strings are a text and its label; without, a pair.
        most: int, the most texts that one example may have.

    Returns:
        A dataset of batches `((columns), extra inputs, rest)`: string tensors `[B]`, a dict, and
        the tuple of labels and weights.

    Raises:
        ValueError: if the dataset has another structure.
    """
    spec = dataset.element_spec
    parts = spec if isinstance(spec, tuple) else (spec,)
    is_pair = len(parts) == 2 and not with_labels and all(map(is_strings, parts))
    if not isinstance(spec, tuple) or is_pair:
        dataset = dataset.map(lambda *x: (x if is_pair else x[0],))

    def in_order(x, *rest):
        text, extra = _split(x)
        return (text if isinstance(text, tuple) else (text,)), extra, rest

    dataset = dataset.map(in_order)
    columns, extra, rest = dataset.element_spec
    ranks = [column.shape.rank for column in columns if is_strings(column)]
    is_alike = len(ranks) == len(columns) <= most and len(set(ranks)) == 1
    is_batch = ranks[:1] == [1] or (ranks == [2] and columns[0].shape[1] in range(1, most + 1))
    is_batch = is_batch and not any(part.shape.rank == 0 for part in tf.nest.flatten(rest))
    is_text = is_alike and (is_batch or ranks[0] == 0)
    if not is_text or len(rest) > 2 or any(map(is_strings, tf.nest.flatten(rest[1:]))):
        raise ValueError(
            "A dataset of text must yield texts, (text, label) or (text, label, weight), batched "
            "or not, where a text is a string or a pair (string, string), as in "
            f"((text, text), label); this one yields {spec}. Convert it with dataset.map."
        )
    if not is_batch:
        dataset = dataset.batch(batch_size)

    def as_columns(columns, extra, rest):
        if columns[0].shape.rank == 2:  # [B, number of texts]
            columns = tuple(tf.unstack(columns[0], axis=1))
        return columns, extra, rest

    return dataset.map(as_columns)


def in_memory(dataset: tf.data.Dataset) -> tuple[Any, Any, Any]:
    """Reads a dataset of texts, batched or not, as arrays `(x, y, sample_weight)`.

    Missing labels and weights are None.
    """
    elements = list(dataset.as_numpy_iterator())
    if not elements:
        raise ValueError("There are no texts: the dataset is empty.")
    elements = [e if isinstance(e, tuple) else (e,) for e in elements]
    text, _ = _split(elements[0][0])
    text = text[0] if isinstance(text, tuple) else text
    join = np.stack if isinstance(text, bytes) else np.concatenate
    joined = tf.nest.map_structure(lambda *leaves: join(leaves), *elements)
    return (*joined, None, None)[:3]


def check_text(name: str, text: Any, error: Exception | None = None) -> None:
    """Raises a ValueError unless a value is a string that UTF-8 can encode."""
    if not _is_text(text):
        raise ValueError(
            f"{name} is {shown(text)}, not a string. Leave it out, or give '' for none."
        ) from error
    try:
        text if isinstance(text, bytes) else text.encode()
    except UnicodeEncodeError as found:
        raise ValueError(
            f"{name} has half a character, the lone surrogate {text[found.start]!r} at "
            f"{found.start}. Remove it: text.encode(errors='ignore').decode()."
        ) from found


def is_strings(spec: object) -> bool:
    """Returns whether a spec describes a string tensor."""
    return isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string


_MADE_FROM_TEXT = frozenset(("token_ids", "segment_ids", "padding_mask"))


def _split(x):
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


def text_columns(x: Any, most: int | None = None) -> tuple[tf.Tensor, ...]:
    """Converts texts, pairs, or examples of more texts to columns, string tensors `[n]`.

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
    """Converts `x` to a tuple of string tensors `[n]`."""
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
    if not tf.is_tensor(column) and (_is_text(column) or not hasattr(column, "__iter__")):
        raise ValueError(
            f"Texts must be a list or an array of strings, or a tuple of two; got {shown(column)}."
        )
    error = None
    try:
        texts = tf.convert_to_tensor(column if tf.is_tensor(column) else list(column), tf.string)
        if texts.shape.rank == 1:  # TensorFlow turns ["a", []] into an empty matrix
            return texts
    except (TypeError, ValueError, tf.errors.InvalidArgumentError) as caught:
        error = caught
    for index, text in enumerate(column):
        check_text(f"Text {index}", text, error)
    raise ValueError(f"Texts must be strings; got {shown(column)}.") from error


def _is_row(value):
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _is_single(part):
    return getattr(part, "shape", None) == () or not hasattr(part, "__len__")


def _is_text(value):
    return isinstance(value, (str, bytes))
