"""Checks of sample weights. Needs NumPy only."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.messages import shown
from keras_bert.preprocessing.class_labels import class_number
from keras_bert.preprocessing.raw import as_arrays, as_floats

if TYPE_CHECKING:
    import numpy.typing as npt


def checked_weights(sample_weight: Any) -> Any:
    """Checks sample weights, `[n, ...]`, a dict of these or None, and returns lists as arrays."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, dict):
        return {name: checked_weights(weights) for name, weights in sample_weight.items()}
    sample_weight = as_arrays(sample_weight)
    try:
        array = as_floats(sample_weight, "float64")
    except (TypeError, ValueError):
        array = np.float64("nan")
    if np.ndim(array) == 0:
        raise ValueError(
            f"sample_weight must be a number for each example; got {shown(sample_weight)}."
        )
    is_right = np.isfinite(array) & (array >= 0)
    if not is_right.all():
        place = tuple(map(int, np.argwhere(~is_right)[0]))
        raise ValueError(
            f"sample_weight must be finite and at least 0; example {place[0]} has {array[place]}."
        )
    return array.astype("float32") if isinstance(sample_weight, (list, tuple)) else sample_weight


def class_sample_weight(
    labels: npt.ArrayLike,
    class_weight: dict[Any, float] | str,
    names: Sequence[str],
    sample_weight: npt.ArrayLike | None = None,
) -> np.ndarray:
    """Computes the weight of each example from its class number, times `sample_weight`, `[n]`.

    Example:
    >>> class_sample_weight([0, 1, 1], {"yes": 3}, ["no", "yes"]).tolist()
    [1.0, 3.0, 3.0]
    """
    labels = np.asarray(labels).reshape(-1)
    weights = class_weights(class_weight, names, labels)[labels]
    return weights if sample_weight is None else weights * np.asarray(sample_weight)


def class_weights(
    class_weight: dict[Any, float] | str, names: Sequence[str], labels: npt.ArrayLike | None = None
) -> np.ndarray:
    """Computes the weight of each class, `[C]` float32.

    Args:
        class_weight: a dict of weights by class name or number, 1 for a class that it leaves out;
            or `"balanced"`, scikit-learn's n / (C x texts of the class).
        names: C strings, the classes.
        labels: `[n]` class numbers, which `"balanced"` needs.

    Example:
    >>> class_weights({"yes": 3}, ["no", "yes"]).tolist()
    [1.0, 3.0]
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        if labels is None:
            raise ValueError(
                'class_weight="balanced" counts the labels: give an array y, or a dict of weights.'
            )
        counts = np.bincount(np.asarray(labels).reshape(-1), minlength=len(names))
        return (counts.sum() / (len(names) * np.maximum(counts, 1))).astype("float32")
    if not isinstance(class_weight, dict):
        raise ValueError(
            f'class_weight must be a dict of weights by class, or "balanced"; got {class_weight!r}.'
        )
    weights = np.ones(len(names), "float32")
    for key, weight in class_weight.items():
        number = key if isinstance(key, numbers.Integral) else class_number(None, key, names)
        if not 0 <= number < len(names):
            raise ValueError(
                f"class_weight has the class {key}; the classes are 0 to {len(names) - 1}: "
                f"{', '.join(names)}."
            )
        if not np.isfinite(weight) or weight < 0:
            raise ValueError(f"The weight of class {key!r} must be 0 or more; got {weight}.")
        weights[number] = weight
    return weights
