"""Labels by name or by number, and the weights of classes. NumPy alone."""

import difflib
import numbers

import numpy as np


def class_numbers(labels, names):
    """Labels as class numbers.

    Args:
        labels: `[n]` names or numbers; whatever holds no names is given back as it is.
        names: C strings, the classes.

    Returns:
        An integer array of the same shape.

    Raises:
        ValueError: at the first label that is none of the names, with those that are known.

    Example:
    >>> class_numbers(["yes", "no", "yes"], ["no", "yes"]).tolist()
    [1, 0, 1]
    """
    array = np.asarray(labels)
    if array.dtype.kind not in "USO" or not array.size:
        return labels
    found = [_number(index, label, names) for index, label in enumerate(array.flat)]
    return np.array(found, "int32").reshape(array.shape)


def label_matrix(labels, names):
    """Several labels a text as zeros and ones.

    Args:
        labels: for each text the list of its labels' names, empty for none; or `[n, C]` of 0 and 1.
        names: C strings, the labels.

    Returns:
        `[n, C]` float32.

    Raises:
        ValueError: if a name is unknown, or it is something else.

    Example:
    >>> label_matrix([["b"], [], ["a", "b"]], ["a", "b"]).tolist()
    [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if not hasattr(labels, "dtype") and all(map(_is_names, labels)):
        matrix = np.zeros((len(labels), len(names)), "float32")
        for index, row in enumerate(labels):
            for label in row:
                matrix[index, _number(index, label, names)] = 1
        return matrix
    form = (
        f"Labels of a multi_label model are a list of names for each text, or 0 and 1, [n, "
        f"{len(names)}]"
    )
    try:
        matrix = np.asarray(labels).astype("float32")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{form}; got rows such as {_shown(labels[0])}.") from error
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ValueError(f"{form}; got shape {matrix.shape}.")
    if not np.isin(matrix, (0, 1)).all():
        row, column = np.argwhere(~np.isin(matrix, (0, 1)))[0]
        raise ValueError(f"{form}; row {row} has {matrix[row, column]:g} in column {column}.")
    return matrix


def class_weights(class_weight, names, labels=None):
    """The weight of each class.

    Args:
        class_weight: a dict of weights by name or by number, 1 for those that it leaves out; or
            `"balanced"`: n / (C x the texts of the class), as scikit-learn weighs them.
        names: C strings, the classes.
        labels: `[n]` class numbers, which `"balanced"` needs.

    Returns:
        `[C]` float32.

    Raises:
        ValueError: if a class is unknown, or a weight is not a finite number of at least 0.

    Example:
    >>> class_weights({"yes": 3}, ["no", "yes"]).tolist()
    [1.0, 3.0]
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        if labels is None:
            raise ValueError(
                'class_weight="balanced" counts the labels, so give them as an array y; with a '
                "dataset give a dict of weights."
            )
        counts = np.bincount(np.asarray(labels).reshape(-1), minlength=len(names))
        return (counts.sum() / (len(names) * np.maximum(counts, 1))).astype("float32")
    if not isinstance(class_weight, dict):
        raise ValueError(
            f'class_weight is a dict of weights by class, or "balanced"; got {class_weight!r}.'
        )
    weights = np.ones(len(names), "float32")
    for key, weight in class_weight.items():
        number = key if isinstance(key, numbers.Integral) else _number(None, key, names)
        if not 0 <= number < len(names):
            raise ValueError(
                f"class_weight has a class {key}; the classes are 0 to {len(names) - 1}: "
                f"{', '.join(names)}."
            )
        if not np.isfinite(weight) or weight < 0:
            raise ValueError(f"The weight of class {key!r} must be 0 or more; got {weight}.")
        weights[number] = weight
    return weights


def _number(index, label, names):
    """The number of a class; `index` says whose label it is, None that it is class_weight's."""
    label = label.decode() if isinstance(label, bytes) else label
    label = str(label) if isinstance(label, str) else label  # NumPy's shows its type
    if isinstance(label, str) and label in names:
        return names.index(label)
    if isinstance(label, numbers.Integral):
        return int(label)
    where = "class_weight" if index is None else f"Label {index}"
    verb = "has the class" if index is None else "is"
    close = difflib.get_close_matches(str(label), names, n=1)
    raise ValueError(
        f"{where} {verb} {label!r}, which is none of the {len(names)} classes: "
        f"{', '.join(names)}." + (f" Did you mean {close[0]!r}?" if close else "")
    )


def _is_names(row):
    is_list = isinstance(row, (list, tuple, set, frozenset)) or getattr(row, "ndim", 0) == 1
    return is_list and all(isinstance(label, (str, bytes)) for label in row)


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
