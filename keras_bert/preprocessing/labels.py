"""Labels of examples: a class for each kind, which converts and checks them in NumPy.

A preprocessor and its task have one as `labels`. `checked` is also the check of a `tf.data.Dataset`
of prepared inputs. n examples, B of a batch, C classes, S sequence.
"""

import dataclasses
import functools
import operator
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_number, check_one_of, did_you_mean, logger, shown
from keras_bert.preprocessing.checked_numbers import (
    finite,
    number_array,
    require,
    require_integers,
)
from keras_bert.preprocessing.forms import (
    Labels,
    as_arrays,
    check_each,
    in_numpy,
    is_text,
    one_each,
)
from keras_bert.preprocessing.text_rows import ops_of

NO_LABEL = -100
"""The label of a word without one, as in transformers: it is not trained on, and not scored."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# Beginnings of the names of Keras's losses and metrics that compare each output with a label.
_ELEMENTWISE = tuple(
    "auc binary categorical cosine f1score fbetascore hinge huber kl logcosh mae meanabsolute "
    "meansquared mse poisson r2 rootmean squaredhinge topkcategorical".split()
)
_ONE_HOT = "loss=keras.losses.CategoricalCrossentropy(from_logits=True)"


@dataclasses.dataclass
class AnyLabels:
    """Labels in any form that a loss takes; the base of those that have rules.

    Args:
        names: the names of the classes, or of the numbers of a regression; None if unknown.
    """

    names: Sequence[str] | None = None

    if_equal = None  # what to do if all labels are equal; None if they may be

    def numbers(self, labels: Labels) -> Any:
        """Converts the labels of examples to the form of the loss; names become numbers."""
        return labels

    def checked(self, numbers: Any, inputs: Mapping[str, Any] | None = None) -> Any:
        """Returns the labels of prepared inputs, arrays or tensors, unless one is wrong."""
        return keras.tree.map_structure(functools.partial(finite, "Labels"), numbers)

    def check_loss(self, labels: Labels, loss: Any, metrics: list) -> None:
        """Raises a ValueError if a compiled loss or metric takes labels in another form."""

    def warn_of_equal(self, labels: Labels | None, hint: str = "") -> None:
        """Warns if the labels of all examples are equal, unless they may be."""
        labels = as_arrays(labels)
        is_column = isinstance(labels, (list, np.ndarray)) and len(labels) > 1
        if self.if_equal is None or not is_column:
            return
        first = labels[0]
        are_equal = np.array_equal if np.ndim(first) else operator.eq
        if all(are_equal(label, first) for label in labels):
            what_to_do = self.if_equal + hint
            logger.warning(
                "All %d labels are %s: nothing can be learned.%s", len(labels), first, what_to_do
            )

    def of_batch(self, numbers: Any) -> Any:
        """Returns the labels of a batch in a form that `numbers` takes."""
        return numbers

    @functools.cached_property
    def known(self) -> dict[str, int]:
        """The number of each name; empty if names are unknown."""
        return {name: index for index, name in enumerate(self.names or ())}

    @functools.cached_property
    def values(self) -> dict[float, int]:
        """The number of each name that is a number; empty if these are in their places, from 0."""
        matches = {name: number for name, number in self.known.items() if _NUMBER.fullmatch(name)}
        values = {float(name): number for name, number in matches.items()}
        return {} if list(values) == list(values.values()) else values

    def number(self, what: str, label: Any, hint: str = "") -> int:
        """Returns the number of a class, by its name or number; errors begin with `what`.

        Where names are numbers, such as "1", a number is a name, and so is True of "true". Where
        names are unknown, every number from 0 is one; the model's classes are compared later.
        """
        known = self.known
        if isinstance(label, bytes):
            label = label.decode(errors="backslashreplace")
        elif isinstance(label, str):
            label = str(label)  # a string of NumPy would show its type
        elif isinstance(label, (bool, np.bool_)):
            same = [name for name in known if name.lower() == str(label).lower()]
            label = same[0] if same else int(label)
        if isinstance(label, str) and label in known:
            return known[label]
        if isinstance(label, Real) and label in self.values:
            return self.values[label]
        limit = len(known) or 2**31
        is_number = isinstance(label, Real) and not self.values
        if is_number and 0 <= label < limit and label == int(label):
            return int(label)
        expected = "a class number; names need label_names."
        if known:
            expected = f"one of the {len(known)} classes: {', '.join(known)}."
            hint = did_you_mean(label, known) or hint
        raise ValueError(f"{what} {shown(label)}, which is not {expected}{hint}")


class ClassNumbers(AnyLabels):
    """The class numbers of tokens, `[B, S]`, of prepared inputs; or one-hot."""

    num_axes = 2  # of class numbers; one-hot labels have one more
    fix = "To leave tokens out of training, give them any class and a sample_weight of 0."

    def numbers(self, labels):
        return label_array(labels)

    def checked(self, numbers, inputs=None):
        if not hasattr(numbers, "shape"):  # a dict
            return super().checked(numbers)
        if self.num_axes == 1:
            numbers = one_each(numbers)
        if numbers.ndim > self.num_axes:
            return self._checked_one_hot(numbers)
        if self.names is None:
            return require(numbers, _are_whole, "Labels must be class numbers", self.fix)
        count = len(self.names)
        expected = f"Labels must be in 0 to {count - 1} for num_classes={count}"
        return require_integers(numbers, count, expected, self.fix)

    def _checked_one_hot(self, numbers):
        """Checks one-hot labels; those of a dataset may be any that its loss takes."""
        width = numbers.shape[-1]
        count = width if self.names is None else len(self.names)
        if numbers.ndim > self.num_axes + 1 or width == 0 or width not in (None, count):
            raise ValueError(
                "Labels must be [n] names or numbers, or one-hot, [n, C]; got shape "
                f"{tuple(numbers.shape)}."
            )
        if isinstance(numbers, np.ndarray):
            return require(numbers, _are_whole, "Labels must be class numbers", self.fix)
        return with_width(super().checked(numbers), count)


class ClassLabels(ClassNumbers):
    """A class for each text, `[n]`, by name or number; or one-hot, `[n, C]`."""

    if_equal = ""
    num_axes = 1
    fix = (
        "Number the classes from 0, name them in label_names, or make the model with a larger "
        "num_classes; scores need a regression (num_classes=1). Leave out examples without a label."
    )

    def numbers(self, labels: Labels) -> np.ndarray:
        """Converts names or numbers to class numbers, integers `[n]`; checks one-hot labels.

        >>> ClassLabels(["no", "yes"]).numbers(["yes", "no", "yes"]).tolist()
        [1, 0, 1]
        """
        array = one_each(label_array(labels))
        is_column = array.ndim == 1 and (self.values or array.dtype.kind == "b")
        are_names = array.dtype.kind in "USOT" or is_column
        if are_names and array.size:
            hint = self._naming_hint(array)
            flat = [self.number(f"Label {i} is", label, hint) for i, label in enumerate(array.flat)]
            array = np.array(flat, "int32").reshape(array.shape)
        array = self.checked(array)
        return array.astype("int64") if "float" in array.dtype.name else array

    def _naming_hint(self, labels):
        """Returns how to name classes that have only numbers, if labels are names."""
        names = sorted({str(label) for label in labels.flat if isinstance(label, str)})
        numbers_as_names = list(map(str, range(len(self.known))))
        if list(self.known) != numbers_as_names or not 0 < len(names) <= 20:
            return ""
        return f" To name the classes, give the preprocessor, or from_preset, label_names={names}."

    def check_loss(self, labels, loss, metrics):
        count = len(self.names)
        if len(labels) == 0 or count < 2:
            return
        row = as_arrays(labels)[0]
        shape = np.shape(row)
        for part in (loss, *metrics):
            if shape in ((), (1,)) and takes_one_hot(part):
                raise ValueError(
                    f"Labels are class names or numbers, [n]; {_name(part)} takes one-hot labels, "
                    f"[n, {count}]: leave it out of compile, or give np.eye({count})[numbers] and "
                    f"{_ONE_HOT}. keras_bert.losses.LogitCrossentropy takes label_smoothing."
                )
        is_one_hot = shape == (count,) and not _is_names(row)
        if is_one_hot and "sparse" in _name(loss).lower():
            raise ValueError(
                f"Labels are one-hot, [n, {count}]; this loss takes class numbers, [n]: pass "
                f"y.argmax(axis=1), or compile with {_ONE_HOT}. For several labels of a text, set "
                "the preprocessor's multi_label."
            )

    def counts(self, numbers: np.ndarray) -> dict[str, int]:
        """Counts the examples of each class, by name."""
        counts = np.bincount(class_numbers(numbers), minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))

    def weights(
        self, class_weight: dict[Any, float] | str, numbers: np.ndarray | None = None
    ) -> np.ndarray:
        """Computes the weights of examples by their class numbers, or of all classes, `[C]`.

        `class_weight` is a dict by class name or number, 1 for a class that it leaves out; or
        `"balanced"`, scikit-learn's n / (C x texts of the class). Weights are float32.
        """
        classes = slice(None) if numbers is None else class_numbers(numbers)
        by_class = np.ones(len(self.names), "float32")
        if isinstance(class_weight, dict):
            for label, weight in class_weight.items():
                check_number(f"The class_weight of {label!r}", weight, at_least=0)
                by_class[self.number("class_weight has the class", label)] = weight
            return by_class[classes]
        hint = " Or give a dict of weights by class."
        check_one_of("class_weight", class_weight, ["balanced"], hint)
        if numbers is None:
            raise ValueError(
                'class_weight="balanced" counts the labels: give an array y, or a dict of weights.'
            )
        counts = np.bincount(classes, minlength=len(by_class))
        by_class[:] = counts.sum() / (len(by_class) * np.maximum(counts, 1))
        return by_class[classes]

    def of_batch(self, numbers):
        """Returns the labels of a batch: names, where a number would be taken for a name."""
        is_number = np.ndim(numbers) == 1 and np.asarray(numbers).dtype.kind in "iuf"
        if not is_number or not self.values:
            return numbers
        return np.array(self.names)[self.checked(np.asarray(numbers)).astype("int64")]


class Tags(AnyLabels):
    """A list of tags for each sentence, by name or number; `NO_LABEL` is no tag."""

    def numbers(self, labels: Labels) -> list[list[int]]:
        """Converts lists of tags to lists of class numbers."""
        check_each(labels, _is_list, "Each sentence must have a list of tags")
        numbers_of_tags = []
        for sentence, tags in enumerate(labels):
            what = f"Sentence {sentence} has the tag"
            tags = tags.tolist() if hasattr(tags, "tolist") else tags  # of PyTorch
            numbers_of_tags.append([self._tag_number(what, tag) for tag in tags])
        return numbers_of_tags

    def _tag_number(self, what, tag):
        is_none = isinstance(tag, Real) and tag == NO_LABEL
        return NO_LABEL if is_none else self.number(what, tag)


class SeveralLabels(AnyLabels):
    """Several classes for a text, or none: a list of names for each, or `[n, C]` of 0 and 1."""

    if_equal = ""

    def numbers(self, labels: Labels) -> np.ndarray:
        """Converts labels to zeros and ones, float32 `[n, C]`.

        >>> SeveralLabels(["a", "b"]).numbers([["b"], [], ["a", "b"]]).tolist()
        [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
        """
        labels = as_arrays(labels)  # a table may have a column of lists
        is_object = str(getattr(labels, "dtype", "object")) == "object"
        if is_object and hasattr(labels, "__len__") and all(map(_is_names, labels)):
            matrix = np.zeros((len(labels), len(self.names)), "float32")
            for index, row in enumerate(labels):
                for label in row:
                    matrix[index, self.number(f"Label {index} is", label)] = 1
            return matrix
        what = "Labels of a multi_label model"
        expected = f"a list of names for each text, or 0 and 1, [n, {len(self.names)}]"
        matrix = number_array(what, labels, expected, _has_columns(self.names))
        return require(matrix, lambda v: (v == 0) | (v == 1), f"{what} must be {expected}")

    def checked(self, numbers, inputs=None):
        numbers = require(numbers, lambda v: (v >= 0) & (v <= 1), "Labels must be from 0 to 1")
        return with_width(numbers, len(self.names))

    def counts(self, numbers: np.ndarray) -> dict[str, int]:
        """Counts the examples of each class, by name."""
        counts = np.count_nonzero(numbers, axis=0)
        return dict(zip(self.names, counts.tolist(), strict=True))


class Numbers(AnyLabels):
    """The numbers of a regression, `[n]`, or `[n, C]` of several names."""

    if_equal = ""

    def numbers(self, labels: Labels) -> np.ndarray:
        """Converts labels to float64."""
        what = "Labels of a regression"
        if len(self.names) == 1:
            return one_each(number_array(what, labels, dtype="float64"))
        expected = f"numbers, [n, {len(self.names)}], of {', '.join(self.names)}"
        return number_array(what, labels, expected, _has_columns(self.names), dtype="float64")


class Similarities(AnyLabels):
    """The scores of pairs, `[n]`, or whatever else trains an embedder."""

    if_equal = " Positives alone are fit((texts, others))."


@dataclasses.dataclass
class Relevance(AnyLabels):
    """Relevance, a teacher's scores or margins, `[n]` or `[n, D]`.

    Args:
        is_binary: whether the loss is binary cross-entropy, which takes 0 to 1.
    """

    is_binary: bool = False
    if_equal = ""

    def numbers(self, labels: Labels) -> np.ndarray:
        """Converts labels to float32."""
        expected = "a number for each example"
        return one_each(
            number_array("Relevance", labels, expected, lambda shape: len(shape) in (1, 2))
        )

    def warn_of_equal(self, labels, hint=""):
        if not any(
            map(np.ndim, () if labels is None else labels)
        ):  # those of several documents may be alike for all queries
            super().warn_of_equal(labels, hint)

    def checked(self, numbers, inputs=None):
        if not self.is_binary:
            return super().checked(numbers)
        return require(
            numbers,
            lambda v: (v >= 0) & (v <= 1),
            "Binary cross-entropy takes a relevance from 0 to 1",
            "Divide grades by the highest. For a teacher's scores, compile with "
            "loss='mean_squared_error'; for the margins of (query, positive, negative), with "
            "loss=MarginMeanSquaredError().",
        )

    def check_loss(self, labels, loss, metrics):
        self.checked(self.numbers(labels))


class Choices(AnyLabels):
    """The index of the right choice of each question, `[n]`."""

    def numbers(self, labels: Labels) -> np.ndarray:
        """Returns labels as an array, unless they can't be indices; or probabilities `[n, C]`."""
        array = one_each(label_array(labels))
        return array if _are_probabilities(array) else self.among(array)

    def checked(self, numbers, inputs=None):
        if _are_probabilities(numbers):
            return super().checked(numbers)
        mask = inputs.get("padding_mask")  # [B, C, S]
        if mask is None:
            mask = inputs["token_ids"] >= 0
        if isinstance(numbers, np.ndarray):
            mask = in_numpy(mask)
        return self.among(one_each(numbers), ops_of(numbers).row_sums(mask) > 0)

    def among(self, numbers: Any, is_there: Any = None) -> Any:
        """Returns indices `[B]` unless one is of a choice that isn't there; bool `[B, C]`."""
        expected = "Labels must be indices of the question's choices, from 0"
        if numbers.ndim > 1 or numbers.dtype == bool:
            raise ValueError(f"{expected}, [B]; got {shown(numbers)}.")

        def are_choices(indices):
            if is_there is None:
                return (indices >= 0) & (indices % 1 == 0)
            ops = ops_of(indices)
            choices = ops.arange(ops.num_columns(is_there))
            is_label = ops.reshape(indices, [-1, 1]) == ops.cast(choices, "float64")
            return ops.row_sums(is_label & is_there) > 0

        return require(numbers, are_choices, expected)


def as_label_names(names: Any) -> list[str] | None:
    """Returns the names of classes as a list of str, each once, or None."""
    if names is None:
        return None
    array = as_arrays(names)
    given = list(array) if np.ndim(np.asarray(array, object)) == 1 else []
    strings = list(map(str, given))
    are_names = all(np.isscalar(n) and (isinstance(n, str) or n == i) for i, n in enumerate(given))
    are_given = strings and all(map(str.strip, strings))
    if not are_given or not are_names or len(set(strings)) < len(strings):
        raise ValueError(
            "label_names must be a list of names that differ, or numbers in their places, 0, 1, "
            f"...; got {shown(names)}. Other numbers must be strings, here and as labels. Leave "
            "out examples without a label, an empty cell, or give their class a name."
        )
    return strings


def class_numbers(numbers: Any) -> Any:
    """Converts class numbers, `[n]` or `[n, 1]`, or one-hot labels, `[n, C]`, to int64 `[n]`."""
    ops = ops_of(numbers)
    if len(numbers.shape) > 1 and numbers.shape[-1] != 1:
        return ops.argmax(numbers, axis=-1)
    return ops.cast(ops.reshape(numbers, [-1]), "int64")


def takes_one_hot(part: Any) -> bool:
    """Returns whether a loss or metric of Keras, or its name, compares labels `[n, C]`."""
    is_of_keras = isinstance(part, str) or getattr(part, "__module__", "").startswith("keras.")
    name = _name(part).lower().replace("_", "")
    return is_of_keras and name.startswith(_ELEMENTWISE)


def _name(part):
    return part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)


def label_array(labels: Labels) -> np.ndarray:
    """Returns labels as an array of any dtype."""
    expected = f"Labels must be one for each example; got {shown(labels)}."
    try:
        array = np.asarray(labels)
    except ValueError as error:
        hint = "If a text may have several labels, make the preprocessor with multi_label=True."
        raise ValueError(f"{expected} {hint}") from error
    if array.ndim == 0:
        raise ValueError(expected)
    return array


def with_width(numbers: Any, count: int) -> Any:
    """Returns labels `[..., C]` of C classes; JAX needs to know C of tensors."""
    shape = tuple(numbers.shape)
    if len(shape) < 2 or shape[-1] not in (None, count):
        raise ValueError(f"Labels must be 0 and 1, [n, {count}]; got shape {shape}.")
    if hasattr(numbers, "set_shape"):
        numbers.set_shape([*shape[:-1], count])
    return numbers


def _are_whole(numbers):
    return numbers % 1 == 0


def _are_probabilities(numbers):
    return numbers.ndim == 2 and numbers.shape[1] != 1 and "float" in str(numbers.dtype)


def _has_columns(names):
    """Returns the function that tells whether a shape is `[n, C]` of C names."""
    return lambda shape: shape[1:] == (len(names),)


def _is_names(row):
    is_list = isinstance(row, (list, tuple, set, frozenset))
    is_column = getattr(row, "ndim", 0) == 1
    return (is_list or is_column) and all(map(is_text, row))


def _is_list(tags):
    is_scalar = getattr(tags, "shape", None) == ()  # a tensor, which has a __len__, too
    return hasattr(tags, "__len__") and not is_text(tags) and not is_scalar
