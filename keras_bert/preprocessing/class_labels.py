"""Labels by name or by number. Needs NumPy only."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.preprocessing.raw import as_arrays, as_floats

if TYPE_CHECKING:
    import keras
    import numpy.typing as npt

    from keras_bert.preprocessing.raw import Labels


def checked_label_names(names: Any) -> list[str] | None:
    """Returns the names of classes as a list of str, or None.

    Raises:
        ValueError: if it is not a list of names, or a name occurs twice.
    """
    if names is None:
        return None
    is_list = isinstance(names, (list, tuple)) or hasattr(as_arrays(names), "tolist")
    found = list(as_arrays(names)) if is_list and np.ndim(names) == 1 else []
    if not found or not all(isinstance(name, (str, numbers.Real)) for name in found):
        raise ValueError(
            "label_names must be a list of names, one for each class, such as ['bad', 'good']; got "
            f"{_shown(names)}."
        )
    found = [*map(str, found)]
    repeated = [name for name in found if found.count(name) > 1]
    if repeated:
        raise ValueError(
            f"label_names has {repeated[0]!r} {len(repeated)} times: {_shown(found)}. Give each "
            "class a name of its own."
        )
    return found


def class_numbers(labels: Labels, names: Sequence[str]) -> Labels:
    """Converts labels to class numbers.

    Args:
        labels: `[n]` names or numbers; numbers are returned unchanged.
        names: C strings, the classes.

    Returns:
        An integer array of the same shape.

    Raises:
        ValueError: if a label is unknown. The message lists the known names.

    Example:
    >>> class_numbers(["yes", "no", "yes"], ["no", "yes"]).tolist()
    [1, 0, 1]
    """
    array = _array(labels)
    if array.dtype.kind not in "USO" or not array.size:
        return labels
    hint = _naming_hint(array, names)
    found = [class_number(index, label, names, hint) for index, label in enumerate(array.flat)]
    return np.array(found, "int32").reshape(array.shape)


def label_matrix(labels: Labels, names: Sequence[str]) -> np.ndarray:
    """Converts the labels of each text to zeros and ones.

    Args:
        labels: a list of label names for each text, empty for none; or `[n, C]` of 0 and 1.
        names: C strings, the labels.

    Returns:
        `[n, C]` float32.

    Raises:
        ValueError: if a name is unknown, or the labels have another form.

    Example:
    >>> label_matrix([["b"], [], ["a", "b"]], ["a", "b"]).tolist()
    [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if not hasattr(labels, "dtype") and all(map(_is_names, labels)):
        matrix = np.zeros((len(labels), len(names)), "float32")
        for index, row in enumerate(labels):
            for label in row:
                matrix[index, class_number(index, label, names)] = 1
        return matrix
    form = (
        f"Labels of a multi_label model must be a list of names for each text, or 0 and 1, [n, "
        f"{len(names)}]"
    )
    try:
        matrix = as_floats(labels)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{form}; got rows such as {_shown(labels[0])}.") from error
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ValueError(f"{form}; got shape {matrix.shape}.")
    if not np.isin(matrix, (0, 1)).all():
        row, column = np.argwhere(~np.isin(matrix, (0, 1)))[0]
        raise ValueError(f"{form}; row {row} has {matrix[row, column]:g} in column {column}.")
    return matrix


def class_targets(
    labels: Labels, names: Sequence[str] | None, multi_label: bool = False
) -> np.ndarray:
    """Checks labels and converts them to the form of a classifier's loss.

    Args:
        labels: `[n]` names or numbers; with `multi_label` a list of names for each text, or
            `[n, C]` of 0 and 1; for a regression (one class without `multi_label`) numbers.
        names: C strings, the classes; or None if they are unknown, for labels by number.
        multi_label: bool.

    Returns:
        An array: class numbers `[n]`; 0 and 1, `[n, C]` float32; or numbers `[n]`.

    Raises:
        ValueError: if a name is unknown, or a label is outside the classes.

    Example:
    >>> class_targets(["yes", "no"], ["no", "yes"]).tolist()
    [1, 0]
    """
    if multi_label:
        return label_matrix(labels, names)
    if names is not None and len(names) == 1:
        return _scores(labels)
    labels = _whole(np.asarray(class_numbers(labels, names or [])))
    if labels.ndim > 1 and 0 in labels.shape[1:]:
        raise ValueError(f"Labels must be [n] names or numbers; got shape {labels.shape}.")
    is_one_each = labels.ndim == 1 or labels.shape[1:] == (1,)
    if names is None or not labels.size:
        return labels
    if not is_one_each and labels.shape[1:] != (len(names),):
        raise ValueError(
            f"Labels must be [n] names or numbers, or one-hot, [n, {len(names)}], for a loss that "
            f"takes these; got shape {labels.shape}."
        )
    if not is_one_each:
        return labels
    if labels.min() < 0 or labels.max() >= len(names):
        raise ValueError(
            f"Labels must be in 0 to {len(names) - 1} for num_classes={len(names)}; got values "
            f"from {labels.min()} to {labels.max()}. Number the classes from 0, or make the model "
            "with a larger num_classes."
        )
    return labels


def token_targets(labels: Labels, num_classes: int) -> Labels:
    """Checks the class numbers of tokens, `[B, S]`, and returns them.

    Raises:
        ValueError: if a number is outside the classes.
    """
    array = _whole(_array(labels))
    if array.size:
        if array.min() < 0 or array.max() >= num_classes:
            raise ValueError(
                f"Labels must be in 0 to {num_classes - 1} for num_classes={num_classes}; got "
                f"values from {array.min()} to {array.max()}. To leave tokens out of training, "
                "give them any class and a sample_weight of 0."
            )
    return labels


def choice_targets(labels: Labels, inputs: Mapping[str, npt.ArrayLike] | None = None) -> Labels:
    """Checks indices of choices, and returns them.

    Args:
        labels: `[B]` ints.
        inputs: prepared inputs, `[B, C, S]` each, or None.

    Raises:
        ValueError: if a label can't be an index, or is the index of a missing choice.
    """
    array = _array(labels)
    if not array.size or not (array.ndim == 1 or array.shape[1:] == (1,)):
        return labels
    if not np.issubdtype(array.dtype, np.integer) or array.min() < 0:
        found = array.min() if np.issubdtype(array.dtype, np.number) else array.flat[0]
        raise ValueError(
            "Labels must be indices of choices, ints with 0 for the first; got "
            f"{found!r}. Number the choices of each question from 0."
        )
    if isinstance(inputs, dict):
        _check_chosen(inputs, array.reshape(-1))
    return labels


def named_classes(preprocessor: Any, num_classes: int) -> Any:
    """Returns the preprocessor with `label_names`, "0", "1", ... if it has none.

    Raises:
        ValueError: if it has names for a different number of classes.
    """
    names = preprocessor.label_names
    if names is None:
        names = [*map(str, range(num_classes))]
        return type(preprocessor).like(preprocessor, label_names=names)
    if len(names) != num_classes:
        raise ValueError(
            f"There are {num_classes} classes but {len(names)} label_names: {names}. Give each "
            "class one name."
        )
    return preprocessor


def check_one_hot(
    labels: Labels | None, num_classes: int, loss: str | keras.losses.Loss | Callable | None
) -> None:
    """Raises a ValueError if labels are one-hot and the compiled `loss` isn't, or the reverse."""
    name = loss if isinstance(loss, str) else type(loss).__name__
    if labels is None or len(labels) == 0 or num_classes < 2:
        return
    row = as_arrays(labels)[0]
    if _shape(row) in ((), (1,)) and name.lower().startswith("categorical"):
        raise ValueError(
            f"Labels are class names or numbers, [n]; the loss {name} takes one-hot labels, "
            f'[n, {num_classes}]. Compile with loss="sparse_categorical_crossentropy", or leave '
            "the loss out."
        )
    is_one_hot = _shape(row) == (num_classes,) and not _is_names(row)
    if is_one_hot and "sparse" in name.lower():
        raise ValueError(
            f"Labels are one-hot, [n, {num_classes}]; this loss takes class numbers, [n]: pass "
            "y.argmax(axis=1). If a text may have several labels, make the preprocessor with "
            "multi_label=True."
        )


def _naming_hint(labels, names):
    """Returns how to name classes that have only numbers, if labels are names."""
    found = {label for label in labels.flat if isinstance(label, str)}
    if list(names) != [*map(str, range(len(names)))] or len(found) > 20:
        return ""
    shown = sorted(map(str, found))
    return f" To name the classes, give the preprocessor, or from_preset, label_names={shown}."


def class_number(index: int | None, label: Any, names: Sequence[str], hint: str = "") -> int:
    """Returns the number of a class, by its name or number.

    Args:
        index: int, the label's place, or None for a class of `class_weight`.
        label: a name, or a number.
        names: C strings, the classes.
        hint: str, added to the error.

    Raises:
        ValueError: if it is none of the classes.
    """
    label = label.decode(errors="backslashreplace") if isinstance(label, bytes) else label
    label = str(label) if isinstance(label, str) else label  # NumPy's shows its type
    if isinstance(label, str) and label in names:
        return names.index(label)
    if isinstance(label, numbers.Integral) and abs(label) < 2**31:
        return int(label)  # the classes of the model are compared later
    where = "class_weight" if index is None else f"Label {index}"
    verb = "has the class" if index is None else "is"
    close = difflib.get_close_matches(str(label), names, n=1)
    raise ValueError(
        f"{where} {verb} {_shown(label)}, which is not one of the {len(names)} classes: "
        f"{', '.join(names)}." + (f" Did you mean {close[0]!r}?" if close else hint)
    )


def _array(labels):
    try:
        return np.asarray(labels)
    except ValueError as error:
        raise ValueError(
            "Labels must be one for each example; got lists of different lengths. If a text may "
            "have several labels, make the preprocessor with multi_label=True."
        ) from error


def _shape(row):
    return (len(row),) if isinstance(row, (list, tuple)) else getattr(row, "shape", ())


def _whole(array):
    """Returns class numbers as they are, or whole floats as integers."""
    if array.dtype.kind in "biu" or not array.size:
        return array
    wrong = np.ones(array.shape, "bool")
    if array.dtype.kind == "f":
        wrong = ~((array == np.floor(array)) & np.isfinite(array))
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0])) if array.ndim else ()
        raise ValueError(
            f"Label {', '.join(map(str, place))} is {array[place]}, which is not a class number. "
            "Labels are whole numbers from 0, or names; scores need a regression (num_classes=1)."
        )
    return array.astype("int64")


def _scores(labels):
    """Returns the labels of a regression, checked."""
    array = _array(labels)
    if array.dtype.kind == "O":
        try:
            array = array.astype("float64")
        except (TypeError, ValueError) as error:
            raise ValueError(
                "A regression (num_classes=1) takes numbers as labels; got "
                f"{_shown(array.flat[0])}."
            ) from error
    if array.dtype.kind not in "biuf":
        kind = "strings" if array.dtype.kind in "US" else f"dtype {array.dtype}"
        raise ValueError(f"A regression (num_classes=1) takes numbers as labels; got {kind}.")
    if array.ndim > 1 and array.shape[1:] != (1,):
        raise ValueError(
            f"A regression (num_classes=1) takes a number for each example, [n]; got labels of "
            f"shape {array.shape}."
        )
    if not np.isfinite(array).all():
        place = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ValueError(
            f"Labels of a regression must be finite numbers; label {place[0]} is {array[place]}. "
            "Leave the example out."
        )
    return array


def _is_names(row):
    is_list = isinstance(row, (list, tuple, set, frozenset)) or getattr(row, "ndim", 0) == 1
    return is_list and all(isinstance(label, (str, bytes)) for label in row)


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


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
            f"Question {row} has the label {labels[row]}, but its choices are "
            f"{', '.join(map(str, np.flatnonzero(is_there[row]))) or 'none'}. Number the choices "
            "of each question from 0."
        )
