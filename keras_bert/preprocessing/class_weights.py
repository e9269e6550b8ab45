"""Weights of classes, and of examples by their class. Needs NumPy only."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.preprocessing.class_labels import class_number

if TYPE_CHECKING:
    import numpy.typing as npt


def class_sample_weight(
    labels: npt.ArrayLike,
    class_weight: dict[Any, float] | str,
    names: Sequence[str],
    sample_weight: npt.ArrayLike | None = None,
) -> np.ndarray:
    """Computes the weight of each example from its class, `[n]` float32.

    Args:
        labels: `[n]` class numbers.
        class_weight: see `class_weights`.
        names: C strings, the classes.
        sample_weight: `[n]` floats to multiply by, or None.

    Raises:
        ValueError: if a class is unknown.

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
    """Computes the weight of each class.

    Args:
        class_weight: a dict of weights by class name or number, 1 for a class that it leaves out;
            or `"balanced"`, scikit-learn's n / (C x texts of the class).
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
                'class_weight="balanced" needs to count the labels: give them as an array y. For a '
                "dataset, give a dict of weights."
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
