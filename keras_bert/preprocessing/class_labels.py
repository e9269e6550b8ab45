"""Labels of classes and their weights: by name or number, in memory and in TensorFlow's graph."""

import numbers
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_number, check_one_of, did_you_mean, shown
from keras_bert.preprocessing.checked_numbers import number_array, require, require_integers
from keras_bert.preprocessing.forms import Labels, as_arrays, is_text, one_each
from keras_bert.preprocessing.text_rows import ops_of

# Beginnings of the names of Keras's losses and metrics that compare each output with a label.
_ELEMENTWISE = tuple(
    "auc binary categorical cosine f1score fbetascore hinge huber kl logcosh mae meanabsolute "
    "meansquared mse poisson r2 rootmean squaredhinge topkcategorical".split()
)
_ONE_HOT = "loss=keras.losses.CategoricalCrossentropy(from_logits=True)"
_RENUMBER = (
    "Number the classes from 0, name them in label_names, or make the model with a larger "
    "num_classes; scores need a regression (num_classes=1)."
)


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


def numbers_of(names: Sequence[str] | None) -> dict[str, int]:
    """Returns `{name: number}` of classes; empty if their names are unknown."""
    return {name: index for index, name in enumerate(names or ())}


def named_by_digits(names: Collection[str]) -> bool:
    """Returns whether there are names of classes, and all are digits."""
    return bool(names) and all(map(str.isdecimal, names))


def class_number(what: str, label: Any, known: dict[str, int], hint: str = "") -> int:
    """Returns the number of a class, by its name or number; errors begin with `what`.

    Where all names are digits, a number is a name. Without `known` names, every number from 0 is
    one; the model's classes are compared later.
    """
    if isinstance(label, bytes):
        label = label.decode(errors="backslashreplace")
    elif isinstance(label, str):
        label = str(label)  # a string of NumPy would show its type
    if named_by_digits(known) and isinstance(label, numbers.Real) and label % 1 == 0:
        label = str(int(label))
    if isinstance(label, str) and label in known:
        return known[label]
    limit = len(known) or 2**31
    if isinstance(label, numbers.Real) and 0 <= label < limit and label == int(label):
        return int(label)
    expected = "a class number; names need label_names."
    if known:
        expected = f"one of the {len(known)} classes: {', '.join(known)}."
        hint = did_you_mean(label, known) or hint
    raise ValueError(f"{what} {shown(label)}, which is not {expected}{hint}")


def _numbers_of_labels(labels, names):
    """Converts an array of names, some perhaps numbers, to class numbers, int32."""
    known = numbers_of(names)
    hint = _naming_hint(labels, known)
    class_numbers = [
        class_number(f"Label {index} is", label, known, hint)
        for index, label in enumerate(labels.flat)
    ]
    return np.array(class_numbers, "int32").reshape(labels.shape)


def _naming_hint(labels, known):
    """Returns how to name classes that have only numbers, if labels are names."""
    names = sorted({str(label) for label in labels.flat if isinstance(label, str)})
    numbers_as_names = list(map(str, range(len(known))))
    if list(known) != numbers_as_names or not 0 < len(names) <= 20:
        return ""
    return f" To name the classes, give the preprocessor, or from_preset, label_names={names}."


def label_matrix(labels: Labels, names: Sequence[str]) -> np.ndarray:
    """Converts the labels of each text to zeros and ones, float32 `[n, C]`.

    Labels are a list of names for each text, empty for none; or `[n, C]` of 0 and 1.

    >>> label_matrix([["b"], [], ["a", "b"]], ["a", "b"]).tolist()
    [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    labels = as_arrays(labels)  # a table may have a column of lists
    may_hold_lists = str(getattr(labels, "dtype", "object")) == "object"
    if may_hold_lists and all(map(_is_names, labels)):
        known = numbers_of(names)
        matrix = np.zeros((len(labels), len(names)), "float32")
        for index, row in enumerate(labels):
            for label in row:
                column = class_number(f"Label {index} is", label, known)
                matrix[index, column] = 1
        return matrix
    what = "Labels of a multi_label model"
    expected = f"a list of names for each text, or 0 and 1, [n, {len(names)}]"
    matrix = number_array(what, labels, expected, _has_columns(names))
    return require(matrix, lambda v: (v == 0) | (v == 1), f"{what} must be {expected}")


def _has_columns(names):
    """Returns the function that tells whether a shape is `[n, C]` of C names."""
    return lambda shape: shape[1:] == (len(names),)


def class_targets(
    labels: Labels, names: Sequence[str] | None, multi_label: bool = False
) -> np.ndarray:
    """Checks labels and converts them to the form of a classifier's loss.

    Labels `[n]`, by name or number, become class numbers; with `multi_label`, see `label_matrix`.
    `names` are None if they are unknown.

    >>> class_targets(["yes", "no", "yes"], ["no", "yes"]).tolist()
    [1, 0, 1]
    """
    if multi_label:
        return label_matrix(labels, names)
    labels = label_array(labels)
    are_names = labels.dtype.kind in "USOT"
    if labels.ndim == 1 and named_by_digits(names or ()):
        are_names |= list(names) != list(map(str, range(len(names))))  # 1 is the name "1"
    if are_names and labels.size:
        labels = _numbers_of_labels(labels, names)
    num_classes = None if names is None else len(names)
    if labels.ndim != 1:
        is_one_hot = names is None or labels.shape[1:] == (num_classes,) or not labels.size
        if not is_one_hot or 0 in labels.shape[1:]:
            raise ValueError(
                "Labels must be [n] names or numbers, or one-hot, [n, C]; got shape "
                f"{labels.shape}."
            )
        num_classes = None  # ones and zeros are no class numbers
    labels = _of_classes(labels, num_classes)
    return labels.astype("int64") if "float" in labels.dtype.name else labels


def regression_targets(labels: Labels, names: Sequence[str]) -> np.ndarray:
    """Converts labels to the float64 numbers of a regression, `[n]`, or `[n, C]` of C names."""
    what = "Labels of a regression"
    if len(names) == 1:
        return one_each(number_array(what, labels, dtype="float64"))
    expected = f"numbers, [n, {len(names)}], of {', '.join(names)}"
    return number_array(what, labels, expected, _has_columns(names), dtype="float64")


def class_weights(
    class_weight: dict[Any, float] | str, names: Sequence[str], labels: npt.ArrayLike | None = None
) -> np.ndarray:
    """Computes the weight of each class, `[C]` float32.

    `class_weight` is a dict by class name or number, 1 for a class that it leaves out; or
    `"balanced"`, scikit-learn's n / (C x texts of the class), which needs class numbers `[n]`.
    """
    if isinstance(class_weight, dict):
        known = numbers_of(names)
        weights = np.ones(len(names), "float32")
        for label, weight in class_weight.items():
            check_number(f"The class_weight of {label!r}", weight, at_least=0)
            weights[class_number("class_weight has the class", label, known)] = weight
        return weights
    hint = " Or give a dict of weights by class."
    check_one_of("class_weight", class_weight, ["balanced"], hint)
    if labels is None:
        raise ValueError(
            'class_weight="balanced" counts the labels: give an array y, or a dict of weights.'
        )
    counts = np.bincount(labels, minlength=len(names))
    weights = counts.sum() / (len(names) * np.maximum(counts, 1))
    return weights.astype("float32")


def weighted_by_class(labels: Any, weights: Any, by_class: np.ndarray) -> Any:
    """Multiplies the weights of a batch by the weights of its classes, `[C]` float32.

    Labels, arrays or tensors, are class numbers, perhaps in a column, or one-hot: both have one
    more axis than the weights.
    """
    ops = ops_of(labels)
    if len(labels.shape) > len(weights.shape):
        is_column = labels.shape[-1] == 1
        labels = labels[..., 0] if is_column else ops.argmax(labels, -1)
    return ops.cast(weights, "float32") * ops.take(by_class, labels)


def token_targets(labels: Labels, num_classes: int) -> Labels:
    """Checks the class numbers of tokens, `[B, S]`, and returns them."""
    hint = "To leave tokens out of training, give them any class and a sample_weight of 0."
    _of_classes(label_array(labels), num_classes, hint)
    return labels


def _of_classes(labels, num_classes, fix=_RENUMBER):
    """Returns class numbers, an array or a tensor, if all of them are classes; see `require`."""
    if num_classes is None:
        return require(labels, lambda v: v % 1 == 0, "Labels must be class numbers", fix)
    expected = f"Labels must be in 0 to {num_classes - 1} for num_classes={num_classes}"
    return require_integers(labels, num_classes, expected, fix)


def _checked_numbers(labels, num_classes):
    """Checks class numbers in the graph, `[B]`; one-hot labels only for not being strings."""
    are_numbers = num_classes is not None and (labels.shape.rank or 0) <= 1
    if are_numbers or labels.dtype == "string":
        return _of_classes(labels, num_classes)
    return labels


def with_class_check(dataset: Any, num_classes: int) -> Any:
    """Makes a `tf.data.Dataset` of `(x, label)` raise an error at a label outside the classes.

    Labels of several numbers each are returned unchanged.
    """
    from keras_bert.graph.datasets import map_labels

    def check(x, labels):
        if isinstance(labels, dict):
            return labels
        labels = _checked_numbers(one_each(labels), num_classes)
        if (labels.shape.rank or 0) > 1:  # JAX needs C
            labels.set_shape([*labels.shape[:-1], num_classes])
        return labels

    return map_labels(dataset, check)


def check_one_hot(labels: Labels | None, num_classes: int, loss: Any, metrics: list) -> None:
    """Raises a ValueError if a compiled loss or metric takes labels in another form."""
    if labels is None or len(labels) == 0 or num_classes < 2:
        return
    row = as_arrays(labels)[0]
    shape = np.shape(row)
    for part in (loss, *metrics):
        if shape in ((), (1,)) and takes_one_hot(part):
            raise ValueError(
                f"Labels are class names or numbers, [n]; {_name(part)} takes one-hot labels, "
                f"[n, {num_classes}]: leave it out of compile, or give np.eye({num_classes})"
                f"[numbers] and {_ONE_HOT}. keras_bert.losses.LogitCrossentropy takes "
                "label_smoothing."
            )
    is_one_hot = shape == (num_classes,) and not _is_names(row)
    if is_one_hot and "sparse" in _name(loss).lower():
        raise ValueError(
            f"Labels are one-hot, [n, {num_classes}]; this loss takes class numbers, [n]: pass "
            f"y.argmax(axis=1), or compile with {_ONE_HOT}. For several labels of a text, set the "
            "preprocessor's multi_label."
        )


def takes_one_hot(part: Any) -> bool:
    """Returns whether a loss or metric of Keras, or its name, compares labels `[n, C]`."""
    is_of_keras = isinstance(part, str) or getattr(part, "__module__", "").startswith("keras.")
    name = _name(part).lower().replace("_", "")
    return is_of_keras and name.startswith(_ELEMENTWISE)


def _name(part):
    return part if isinstance(part, str) else getattr(part, "__name__", type(part).__name__)


def label_array(labels: Labels) -> np.ndarray:
    """Returns labels as an array of any dtype, `[n, 1]` as `[n]`."""
    try:
        return one_each(np.asarray(labels))
    except ValueError as error:
        raise ValueError(
            f"Labels must be one for each example; got {shown(labels)}. If a text may have several "
            "labels, make the preprocessor with multi_label=True."
        ) from error


def _is_names(row):
    is_list = isinstance(row, (list, tuple, set, frozenset))
    is_column = getattr(row, "ndim", 0) == 1
    return (is_list or is_column) and all(map(is_text, row))
