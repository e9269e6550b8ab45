"""Batches of examples in memory."""

import bisect
import copy
import dataclasses
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import Dataset
from keras_bert.training.keras_internals import DataAdapter


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
            raise ValueError(fills_no_batch(batching))

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return alone(self._make(self._numbers[index]))

    def __iter__(self) -> Iterator:
        numbers = self._numbers
        self.on_epoch_end()
        return (alone(self._make(rows)) for rows in numbers)

    @property
    def first(self) -> Any:
        """The first batch."""
        return self[0]

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


class StreamBatches(DataAdapter):
    """Batches of a stream of examples, NumPy arrays; each pass reads the stream again.

    `fit` and `evaluate` of any Keras model take it, and it can be iterated over. `read` begins a
    pass, and yields `(inputs,)`, with labels, or with labels and weights. `batching` comes from
    `for_rows`; `num_batches` is None if it is unknown.
    """

    batch_size = partial_batch_size = None
    has_partial_batch = False
    num_batches = None

    def __init__(
        self,
        read: Callable[[], Iterator[tuple]],
        batching: Batching,
        num_batches: int | None = None,
    ):
        self.batching = batching
        self.num_batches = num_batches
        self._read = read
        self._begun = None  # a pass whose first batch was looked at
        self.error = None  # of the last pass, whose type TensorFlow's pipelines lose

    @property
    def first(self) -> Any:
        """The first batch, which the next pass begins with."""
        if self._begun is None:
            batches = self._read()
            self._begun = [next(batches)], batches
        [first], _ = self._begun
        return alone(first)

    def __iter__(self) -> Iterator:
        return map(alone, self.get_numpy_iterator())

    def map(self, function: Callable[..., tuple]) -> "StreamBatches":
        """Returns batches of what a function makes of the inputs, labels and weights of these."""

        def read():
            return itertools.starmap(function, self.get_numpy_iterator())

        return StreamBatches(read, self.batching, self.num_batches)

    def get_numpy_iterator(self) -> Iterator[tuple]:
        begun = self._begun
        self._begun = self.error = None
        try:
            yield from itertools.chain(*begun) if begun else self._read()
        except Exception as error:
            self.error = error
            raise

    get_jax_iterator = get_torch_dataloader = get_numpy_iterator

    def get_tf_dataset(self) -> Dataset:
        from keras_bert.graph.datasets import as_dataset

        return as_dataset(self)


def fills_no_batch(batching: Batching) -> str:
    """Returns the message for examples that are fewer than a batch."""
    return f"The examples fill no batch of {batching.batch_size}, and drop_remainder is set."


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
    batches = _full_batches(zip(rows.tolist(), lengths[rows].tolist(), strict=True), batching)
    return list(map(np.array, batches))


def _full_batches(rows, batching, own_sizes=None):
    """Yields lists of rows, given as `(row, length)`, in the order in which they are full.

    A batch is full of rows of one bucket, or at the next of its `own_sizes`.
    """
    buckets = sorted(batching.bucket_lengths or (math.inf,))
    sizes = [batching.batch_size] * len(buckets)
    if batching.tokens_per_batch is not None:
        sizes = [batching.tokens_per_batch // length for length in buckets]
    waiting = [[] for _ in buckets]
    for row, length in rows:
        bucket = bisect.bisect_left(buckets, length)
        waiting[bucket].append(row)
        if len(waiting[bucket]) == (own_sizes[0] if own_sizes else sizes[bucket]):
            yield waiting[bucket]
            waiting[bucket] = []
            if own_sizes:
                own_sizes.popleft()
    if not batching.drop_remainder:
        yield from filter(None, waiting)


def for_sequences(rows: Any, batching: Batching) -> Batching:
    """Returns a `Batching` whose tokens are those of all sequences of a row."""
    if batching.tokens_per_batch is None:
        return batching
    tokens = batching.tokens_per_batch // rows.num_sequences
    return dataclasses.replace(batching, tokens_per_batch=tokens)


def stream_batches(
    chunks: Iterable[Any], batching: Batching, own_sizes: deque[int] | None = None
) -> Iterator[tuple]:
    """Yields the batches of chunks of rows, those that `row_batches` makes of all in order.

    `own_sizes` are those of the batches that the rows came in, if these are kept: they grow while
    chunks are read.
    """
    chunks = iter(chunks)
    first = next(chunks)
    batching = for_sequences(first, batching)

    def numbered():
        for rows in itertools.chain([first], chunks):
            for number, length in enumerate(np.asarray(rows.num_tokens()).tolist()):
                yield (rows, number), length

    for batch in _full_batches(numbered(), batching, own_sizes):
        parts = []
        for _, part in itertools.groupby(batch, key=lambda row: id(row[0])):
            chunk, numbers = zip(*part, strict=True)
            parts.append(chunk[0].batch(np.array(numbers), batching))
        yield parts[0] if len(parts) == 1 else keras.tree.map_structure(joined_rows, *parts)


def joined_rows(*arrays: np.ndarray, fill: float = 0) -> np.ndarray:
    """Joins the rows of arrays, which are filled up to one width."""
    shapes = np.array([array.shape for array in arrays])
    missing = shapes.max(axis=0) - shapes
    missing[:, 0] = 0
    padded = []
    for array, after in zip(arrays, missing, strict=True):
        padded.append(np.pad(array, [(0, width) for width in after], constant_values=fill))
    return np.concatenate(padded)


def alone(parts: tuple) -> Any:
    """Unwraps a tuple that holds the inputs only; other tuples are returned unchanged."""
    return parts if len(parts) > 1 else parts[0]
