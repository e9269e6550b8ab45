"""Batches of examples in memory."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import Dataset, Labels, in_numpy, is_dataset


class Batches(keras.utils.PyDataset):
    """Batches of examples in memory, NumPy arrays, in a new order in each pass.

    `fit`, `evaluate` and `predict` of any Keras model take it, and it can be iterated over.
    `order` draws what each batch of a pass is made of, such as row numbers, and `make` makes it:
    `(inputs,)`, with labels, or with labels and weights. `batching` comes from `for_rows`.
    """

    def __init__(
        self,
        order: Callable[[np.random.Generator], list],
        make: Callable[[Any], tuple],
        batching: Batching,
    ):
        super().__init__()
        self.batching = batching
        self._order = order
        self._make = make
        self._seed = batching.seed
        if batching.seed is None:
            self._seed = np.random.randint(2**31)
        self._passes = 0
        self.on_epoch_end()
        if not self._numbers:
            raise ValueError(
                f"The examples fill no batch of {batching.batch_size}, and drop_remainder is set."
            )

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return alone(self._make(self._numbers[index]))

    def __iter__(self) -> Iterator:
        numbers = self._numbers
        self.on_epoch_end()
        return (alone(self._make(rows)) for rows in numbers)

    def map(self, function: Callable[..., tuple]) -> Self:
        """Returns batches of what a function makes of the inputs, labels and weights of these."""
        mapped = copy.copy(self)
        mapped._make = lambda numbers: function(*self._make(numbers))
        return mapped

    def on_epoch_end(self) -> None:
        """Draws the order of the next pass."""
        generator = np.random.default_rng((self._seed, self._passes))
        self._numbers = self._order(generator)
        self._passes += bool(self.batching.shuffle)


def has_labels(batches: Batches | Dataset) -> bool:
    """Returns whether batches hold labels, after inputs."""
    return isinstance(_first(batches), tuple)


def has_weights(batches: Batches | Dataset) -> bool:
    """Returns whether batches hold weights, after inputs and labels."""
    batch = _first(batches)
    return isinstance(batch, tuple) and len(batch) == 3


def _first(batches):
    """Returns the first batch, or the spec of batches of a dataset."""
    return batches.element_spec if is_dataset(batches) else batches[0]


def row_batches(lengths: npt.ArrayLike, make: Callable, batching: Batching) -> Batches:
    """Makes batches of rows of these lengths, `make` of row numbers `[B]`, bucketed optionally."""
    lengths = np.asarray(lengths)

    def order(generator):
        rows = np.arange(len(lengths))
        if batching.shuffle:
            rows = generator.permutation(rows)
        if batching.bucket_lengths is not None:
            return _bucketed(rows, lengths, batching)
        return cut_rows(rows, batching)

    return Batches(order, make, batching)


def cut_rows(rows: np.ndarray, batching: Batching) -> list[np.ndarray]:
    """Cuts rows into those of batches."""
    size = batching.batch_size
    end = len(rows)
    if batching.drop_remainder:
        end -= end % size
    return [rows[start : start + size] for start in range(0, end, size)]


def _bucketed(rows, lengths, batching):
    """A batch is full of rows of one bucket; batches come in the order in which they are full."""
    buckets = np.array(sorted(batching.bucket_lengths))
    sizes = np.full(len(buckets), batching.batch_size)
    if batching.tokens_per_batch is not None:
        sizes = batching.tokens_per_batch // buckets
    waiting = [[] for _ in buckets]
    batches = []
    bucket_of = np.searchsorted(buckets, lengths[rows])
    for row, bucket in zip(rows.tolist(), bucket_of.tolist(), strict=True):
        waiting[bucket].append(row)
        if len(waiting[bucket]) == sizes[bucket]:
            batches.append(waiting[bucket])
            waiting[bucket] = []
    if not batching.drop_remainder:
        batches += filter(None, waiting)
    return list(map(np.array, batches))


def alone(parts: tuple) -> Any:
    """Unwraps a tuple that holds the inputs only; other tuples are returned unchanged."""
    return parts if len(parts) > 1 else parts[0]


def by_length(lengths: npt.ArrayLike) -> np.ndarray:
    """Sorts row numbers by length, the longest first, so that neighbors need little padding."""
    return np.argsort(-np.asarray(lengths), kind="stable")


def prepared_batches(
    x: Mapping[str, npt.ArrayLike],
    y: Labels | None,
    sample_weight: npt.ArrayLike | None,
    batching: Batching,
) -> Batches:
    """Batches prepared inputs in memory."""
    if isinstance(x, tuple):  # a dict for each text of an example
        inputs = tuple(map(in_numpy, x))
    else:
        inputs = in_numpy(x)
    targets = [in_numpy(part) for part in (y, sample_weight) if part is not None]
    parts = (inputs, *targets)
    first, *_ = keras.tree.flatten(parts)
    lengths = np.zeros(len(first))  # rows keep their padding

    def make(rows):
        return keras.tree.map_structure(lambda values: values[rows], parts)

    return row_batches(lengths, make, batching)
