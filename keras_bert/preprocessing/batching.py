"""Settings for making batches."""

import dataclasses
import numbers
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Self

import keras

from keras_bert.messages import check_int, check_one_of, shown
from keras_bert.training.strategy import device_kind

PAD_TO = ("auto", "longest", "full")


@dataclasses.dataclass(frozen=True)
class Batching:
    """Settings for making batches: size, order, padding, and what to drop.

    `fit`, `evaluate`, `batches`, `finetune` and every preprocessor take a `Batching`.

    Args:
        batch_size: int, rows per batch.
        shuffle: bool, whether examples in memory are shuffled, in a new order each epoch. None
            shuffles in `fit`, not in `batches`.
        seed: int, the seed of the shuffling; None draws one.
        pad_to: `"longest"` pads each batch to its longest row. `"full"` pads to the preprocessor's
            `sequence_length`. Ints, such as `(32, 64, 128)`, pad to the smallest length that holds
            the longest row. `"auto"` suits the device: XLA compiles a model again for each shape,
            so on JAX's CPU a batch gets one of the lengths 8, 12, 16, 24, 32, 48, ..., on a GPU one
            of four, and on a TPU, where compiling takes minutes, the full one; elsewhere, the
            length of its longest row.
        bucket_lengths: ints, such as `(32, 64, 128)`. Examples in memory that need the same bucket
            length are batched together and padded to it. This keeps padding low, and the model is
            compiled for few shapes.
        tokens_per_batch: int, used with `bucket_lengths` instead of `batch_size`. A batch has as
            many rows as fit into this number of tokens, padding included, so batches of short rows
            have more rows.
        drop_remainder: bool, whether training drops a smaller last batch. None drops it on a TPU
            only. Evaluation and prediction never drop examples.

    Raises:
        ValueError: if a size is below 1, or arguments exclude each other.

    Example:
    >>> from keras_bert import Batching
    >>> Batching(batch_size=16, bucket_lengths=(32, 64, 128)).batch_size
    16
    """

    batch_size: int = 32
    shuffle: bool | None = None
    seed: int | None = None
    pad_to: str | Sequence[int] = "auto"
    bucket_lengths: Sequence[int] | None = None
    tokens_per_batch: int | None = None
    drop_remainder: bool | None = None

    def __post_init__(self):
        check_int("batch_size", self.batch_size)
        if self.seed is not None:
            check_int("seed", self.seed, at_least=0, at_most=2**63 - 1)
        if isinstance(self.pad_to, str):
            check_one_of("pad_to", self.pad_to, PAD_TO, " Or give a list of lengths.")
        else:
            self._set_lengths("pad_to")
        has_buckets = self.bucket_lengths is not None
        if has_buckets:
            self._set_lengths("bucket_lengths")
        if self.tokens_per_batch is not None:
            if not has_buckets:
                raise ValueError("tokens_per_batch needs bucket_lengths, such as (32, 64, 128).")
            least = int(max(self.bucket_lengths))  # one row of the longest
            check_int("tokens_per_batch", self.tokens_per_batch, at_least=least)

    def _set_lengths(self, name):
        """Checks the lengths of a field, and makes them a tuple, which can be hashed."""
        given = getattr(self, name)
        try:
            lengths = tuple(given)
        except TypeError:  # not iterable
            lengths = ()
        if not lengths or not all(isinstance(n, numbers.Integral) and n > 0 for n in lengths):
            raise ValueError(
                f"{name} must hold lengths of at least 1, such as (32, 64, 128); "
                f"got {shown(given)}."
            )
        object.__setattr__(self, name, lengths)

    @classmethod
    def of(cls, batching: Self | None = None, batch_size: int | None = None) -> Self:
        """Returns a `Batching`, by default one of `batch_size` rows."""
        if batching is None:
            return cls() if batch_size is None else cls(batch_size)
        if batch_size is not None or not isinstance(batching, Batching):
            raise ValueError(
                f"batching must be a Batching, in place of batch_size; got {shown(batching)} and "
                f"batch_size={batch_size}."
            )
        return batching

    def for_rows(self, longest: int) -> Self:
        """Resolves `pad_to="auto"` and `drop_remainder=None`, which depend on the device.

        `longest` is the length of the longest possible row.
        """
        if self.bucket_lengths is not None and max(self.bucket_lengths) < longest:
            raise ValueError(
                f"bucket_lengths must reach {longest}, the longest row; got {self.bucket_lengths}."
            )
        device = device_kind()
        pad_to = self.pad_to
        drop_remainder = self.drop_remainder
        if pad_to == "auto":
            pad_to = _auto_pad_to(device, longest)
        if drop_remainder is None:
            drop_remainder = device == "TPU"
        return dataclasses.replace(self, pad_to=pad_to, drop_remainder=drop_remainder)

    def width(self, lengths: Any, most: int, ops: ModuleType) -> Any:
        """Returns the length, up to `most`, to pad rows of int64 `[B]` tokens to."""
        pad_to = self.pad_to if self.bucket_lengths is None else self.bucket_lengths
        if pad_to == "full":
            return most
        longest = ops.maximum(ops.max_or_zero(lengths), 1)  # B may be 0
        if pad_to == "longest":
            return longest
        shorter = {length for length in pad_to if length < most}
        return ops.smallest_at_least(sorted(shorter | {most}), longest)

    def for_evaluation(self) -> Self:
        """Returns a copy that batches every example once, in order."""
        return dataclasses.replace(self, shuffle=False, drop_remainder=False)

    def num_rows(self, steps: int | None) -> int | None:
        """Returns the rows of a number of batches; None, for all, stays None."""
        return steps and steps * self.batch_size

    def check_unsorted(self, what: str) -> None:
        """Raises a ValueError if rows are sorted by length, which is impossible for `what`."""
        if self.bucket_lengths is not None:
            raise ValueError(f"{what} can't be sorted by length: leave out bucket_lengths.")


def _auto_pad_to(device, longest):
    """Returns what `pad_to="auto"` means: the more a new shape costs, the fewer there are."""
    if device == "TPU":
        return "full"
    if device == "GPU":
        return quarters(longest)
    if keras.backend.backend() == "jax":
        return octaves(longest, 2)
    return "longest"


def quarters(length: int) -> list[int]:
    """Returns 1/4, 2/4, 3/4 and 4/4 of a length to pad to: little padding and few shapes."""
    return sorted({-(-length * part // 4) for part in (1, 2, 3, 4)})


def octaves(length: int, steps: int, least: int = 8) -> list[int]:
    """Returns sizes from `least` to `length`, `steps` from a power of two to the next.

    >>> octaves(40, 2)
    [8, 12, 16, 24, 32, 40]
    """
    sizes = {length}
    for bits in range(length.bit_length()):
        for step in range(steps):
            size = 2**bits * (steps + step) // steps
            if least <= size < length:
                sizes.add(size)
    return sorted(sizes)
