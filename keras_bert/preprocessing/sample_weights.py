"""Checks of sample weights. Needs NumPy only."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_number
from keras_bert.preprocessing.class_labels import class_number
from keras_bert.preprocessing.raw import number_array


def weight_arrays(sample_weight: Any) -> Any:
    """Returns sample weights as float32, `[n, ...]`, a dict of these, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, dict):
        return {name: weight_arrays(weights) for name, weights in sample_weight.items()}
    weights = number_array("sample_weight", sample_weight, is_shape=lambda shape: len(shape) > 0)
    if (weights < 0).any():
        raise ValueError(f"sample_weight must be at least 0; got {weights.min():g}.")
    return weights


def class_weights(
    class_weight: dict[Any, float] | str, names: Sequence[str], labels: npt.ArrayLike | None = None
) -> np.ndarray:
    """Computes the weight of each class, `[C]` float32.

    `class_weight` is a dict by class name or number, 1 for a class that it leaves out; or
    `"balanced"`, scikit-learn's n / (C x texts of the class), which needs class numbers `[n]`.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        if labels is None:
            raise ValueError(
                'class_weight="balanced" counts the labels: give an array y, or a dict of weights.'
            )
        counts = np.bincount(labels, minlength=len(names))
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
