"""Batches of prepared inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.batches import Batches, row_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.raw import Labels, is_dataset

if TYPE_CHECKING:
    import tensorflow as tf


def prepared_batches(
    x: Mapping[str, npt.ArrayLike] | tf.data.Dataset,
    y: Labels | None,
    sample_weight: npt.ArrayLike | None,
    batching: Batching,
) -> Batches | tf.data.Dataset:
    """Batches prepared inputs in memory; a dataset is returned unchanged."""
    if is_dataset(x):
        return x
    parts = tuple(_arrays(part) for part in (x, y, sample_weight) if part is not None)
    lengths = np.zeros(len(keras.tree.flatten(parts)[0]))  # rows keep their padding

    def make(rows):
        return keras.tree.map_structure(lambda values: values[rows], parts)

    return row_batches(lengths, make, batching)


def _arrays(values):
    if isinstance(values, tuple):
        return tuple(map(_arrays, values))
    if isinstance(values, dict):
        return {name: _arrays(each) for name, each in values.items()}
    return np.asarray(values) if isinstance(values, list) else keras.ops.convert_to_numpy(values)
