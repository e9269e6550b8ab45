"""Checks of numbers: one for arrays in memory and for tensors on their way through a dataset."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_values, shown
from keras_bert.preprocessing.raw import Labels, Tensor, holds_numbers, number_array, one_each


def checked(values: Any, is_right: Callable, expected: str, fix: str = "") -> Any:
    """Returns numbers, an array or a tensor, unless one of them is wrong.

    A wrong array raises a ValueError that says where; a wrong tensor fails when its batch is read.
    `is_right` is a function of float64 values; `expected` says what they must be, and `fix` what to
    do.
    """
    if isinstance(values, np.ndarray):
        if values.size and not holds_numbers(values):
            raise ValueError(f"{expected}; got {shown(values.tolist())}. {fix}".rstrip())
        with np.errstate(invalid="ignore"):  # of NaN and infinity
            check_values(values, is_right(values.astype("float64")), expected, fix)
        return values
    import tensorflow as tf

    from keras_bert.graph.datasets import asserted

    if values.dtype == tf.string:
        raise ValueError(f"{expected}; the dataset yields strings. {fix}".rstrip())
    message = f"{expected}. {fix}".rstrip()
    return asserted(values, is_right(tf.cast(values, tf.float64)), f"{message} Others:")


def with_finite_check(extra_inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Converts floats to float32; reading a batch fails if a number is not finite."""
    import tensorflow as tf

    return {
        name: _finite(tf.cast(values, tf.float32), name) if values.dtype.is_floating else values
        for name, values in extra_inputs.items()
    }


def weight_arrays(sample_weight: Any) -> Any:
    """Returns sample weights as float32, `[n, ...]`, a dict of these, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, dict):
        return {name: weight_arrays(weights) for name, weights in sample_weight.items()}
    name = "sample_weight"
    return _not_negative(number_array(name, sample_weight, is_shape=len), name)


def with_target_checks(targets: tuple) -> tuple:
    """Makes reading `(labels,)` or `(labels, weights)`, of any structure, fail at wrong numbers."""
    import tensorflow as tf

    def checks(check):
        return lambda values: check(values) if isinstance(values, tf.Tensor) else values

    labels, *weights = targets
    labels = keras.tree.map_structure(checks(_finite), labels)
    return labels, *keras.tree.map_structure(checks(_not_negative), weights)


def relevance_targets(labels: Labels) -> np.ndarray:
    """Converts relevance, a teacher's scores or margins, `[n]` or `[n, D]`, to float32."""
    expected = "a number for each example"
    return one_each(number_array("Relevance", labels, expected, lambda shape: len(shape) in (1, 2)))


def checked_relevance(labels: Any) -> Any:
    """Checks that the relevance in an array or a tensor is one for binary cross-entropy."""
    return checked(
        labels,
        lambda v: (v >= 0) & (v <= 1),
        "Binary cross-entropy takes a relevance from 0 to 1",
        "Divide grades by the highest. For a teacher's scores, compile with "
        "loss='mean_squared_error'; for the margins of (query, positive, negative), with "
        "loss=MarginMeanSquaredError().",
    )


def _finite(values, name="Labels"):
    if not values.dtype.is_floating:
        return values
    fix = "Leave out or fill missing values."
    return checked(values, lambda v: abs(v) < np.inf, f"{name} must be finite numbers", fix)


def _not_negative(weights, name="Weights"):
    expected = f"{name} must be finite numbers of at least 0"
    return checked(weights, lambda v: (v >= 0) & (v < np.inf), expected)
