"""Prepared inputs, in memory or in a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.raw import Labels, is_dataset, is_raw
from keras_bert.preprocessing.row_batches import prefetched
from keras_bert.preprocessing.text_examples import in_memory


def prepared_batches(
    x: Mapping[str, npt.ArrayLike] | tf.data.Dataset,
    y: Labels | None,
    sample_weight: npt.ArrayLike | None,
    batching: Batching,
) -> tf.data.Dataset:
    """Batches prepared inputs in memory; a dataset is returned unchanged."""
    if is_dataset(x):
        return x
    parts = tuple(part for part in (x, y, sample_weight) if part is not None)
    dataset = tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])
    if batching.shuffle:
        dataset = dataset.shuffle(len(dataset), seed=batching.seed)
    drop = bool(batching.drop_remainder)
    return prefetched(dataset.batch(batching.batch_size, drop_remainder=drop))


def labels_of(dataset: tf.data.Dataset) -> tuple[Any, Any]:
    """Reads a dataset of raw texts or of prepared batches as `(x, labels)` in memory."""
    if is_raw(dataset):
        x, y, _ = in_memory(dataset)
        return x, y
    if not isinstance(dataset.element_spec, tuple) or len(dataset.element_spec) < 2:
        raise ValueError("scores needs labels: make the dataset yield (x, label).")
    parts = [(x, y) for x, y, *_ in dataset.as_numpy_iterator()]
    if not parts:
        raise ValueError("There are no examples: the dataset is empty.")
    return tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *parts)
