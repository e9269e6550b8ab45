"""Weights of examples by their classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_number
from keras_bert.preprocessing.class_labels import class_number


def class_sample_weight(
    labels: npt.ArrayLike,
    class_weight: dict[Any, float] | str,
    names: Sequence[str],
    sample_weight: npt.ArrayLike | None = None,
) -> np.ndarray:
    """Computes the weight of each example from its class number, times `sample_weight`, `[n]`.

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

    `class_weight` is a dict by class name or number, 1 for a class that it leaves out; or
    `"balanced"`, scikit-learn's n / (C x texts of the class), which needs the labels, `[n]`.
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
        check_number(f"The class_weight of {key!r}", weight, at_least=0)
        weights[class_number("class_weight has the class", key, names)] = weight
    return weights
