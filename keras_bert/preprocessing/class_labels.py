"""Labels of classes: by name or by number, in memory, and in TensorFlow's graph."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.preprocessing.raw import as_arrays, as_floats

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

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
    array = label_array(labels)
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


def checked_classes(labels: tf.Tensor, names: Sequence[str] | None) -> tf.Tensor:
    """Converts a batch's labels to class numbers in the graph; unknown labels are errors.

    Args:
        labels: class numbers, or strings, the names of classes.
        names: C strings, the classes; or None if they are unknown, for labels by number.

    Raises:
        ValueError: if labels are strings, and the names are unknown.
    """
    import tensorflow as tf

    if labels.dtype == tf.string:
        if not names:
            raise ValueError("Labels must be class numbers; the dataset yields strings.")
        is_name = labels[..., None] == tf.constant(names)  # [B, C]
        message = f"Labels must be one of {', '.join(names)}. Others:"
        is_inside, numbers = tf.reduce_any(is_name, -1), tf.argmax(is_name, -1, tf.int32)
    else:
        if names is None or not _is_one_each(labels.shape):
            return labels
        message = (
            f"Labels must be in 0 to {len(names) - 1} for num_classes={len(names)}. Number the "
            "classes from 0, or make the model with a larger num_classes. Labels outside:"
        )
        values = tf.cast(labels, tf.float64)
        is_inside, numbers = (values >= 0) & (values < len(names)), labels
        is_inside &= values == tf.floor(values)
    outside = tf.boolean_mask(tf.reshape(labels, [-1]), ~tf.reshape(is_inside, [-1]))
    assertion = tf.debugging.Assert(tf.reduce_all(is_inside), [message, outside])
    with tf.control_dependencies([assertion]):
        return tf.identity(numbers)


def checked_labels(dataset: Any, num_classes: int) -> Any:
    """Makes a dataset raise an error at a label outside the classes.

    A model can't detect such a label: on a GPU or a TPU its loss is NaN, or the loss of another
    class. Labels are checked once each, in the input pipeline, so the train step has no extra work.

    Args:
        dataset: a `tf.data.Dataset` of `(x, label)` or `(x, label, weight)`, batched or not.
            Anything else is returned unchanged, and so are labels of several numbers each.
        num_classes: int, C; labels are 0 to C - 1.

    Returns:
        A `tf.data.Dataset` of the same elements. Reading a batch with another label raises a
        `tf.errors.InvalidArgumentError` that names the label.

    Raises:
        ValueError: if the dataset yields no labels, or strings as labels.

    Example:
    >>> import tensorflow as tf
    >>> dataset = tf.data.Dataset.from_tensor_slices(([10, 20], [0, 1])).batch(2)
    >>> [labels.tolist() for _, labels in checked_labels(dataset, 2).as_numpy_iterator()]
    [[0, 1]]
    """
    import tensorflow as tf

    if not isinstance(dataset, tf.data.Dataset):
        return dataset
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2:
        raise ValueError(
            "The dataset yields no labels; make it yield (x, label), the label a class number "
            f"from 0 to {num_classes - 1}."
        )
    label = spec[1]
    is_packed = isinstance(spec[0], dict) and "cls_positions" in spec[0]  # with labels [B, K]
    if not isinstance(label, tf.TensorSpec) or not (_is_one_each(label.shape) or is_packed):
        return dataset
    if label.dtype == tf.string:
        raise ValueError(
            f"Labels must be class numbers, 0 to {num_classes - 1}; the dataset yields strings. "
            "Use label_names.index(name) to number named classes."
        )
    names = [*map(str, range(num_classes))]

    @tf.autograph.experimental.do_not_convert
    def check(x, labels, *rest):
        one_each = tf.reshape(labels, [-1]) if is_packed else labels
        return (x, tf.reshape(checked_classes(one_each, names), tf.shape(labels)), *rest)

    return dataset.map(check, tf.data.AUTOTUNE, deterministic=True)


def token_targets(labels: Labels, num_classes: int) -> Labels:
    """Checks the class numbers of tokens, `[B, S]`, and returns them.

    Raises:
        ValueError: if a number is outside the classes.
    """
    array = _whole(label_array(labels))
    if array.size:
        if array.min() < 0 or array.max() >= num_classes:
            raise ValueError(
                f"Labels must be in 0 to {num_classes - 1} for num_classes={num_classes}; got "
                f"values from {array.min()} to {array.max()}. To leave tokens out of training, "
                "give them any class and a sample_weight of 0."
            )
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


def label_array(labels: Labels) -> np.ndarray:
    """Returns labels as an array of any dtype."""
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
    array = label_array(labels)
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


def _is_one_each(shape):
    return shape.rank in (None, 0, 1) or shape[1:] == (1,)
