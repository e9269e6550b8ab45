"""How examples in memory become batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import keras

from keras_bert.training.strategy import device_kind

PAD_TO = ("auto", "longest", "full")


@dataclasses.dataclass(frozen=True)
class Batching:
    """How examples become batches: their size, order, padding, and what happens to the last one.

    `fit`, `evaluate`, `predict`, `batches`, `finetune` and every preprocessor take one.

    Args:
        batch_size: int, rows of a batch.
        shuffle: bool, whether examples in memory are shuffled, differently in each epoch. `fit`
            has an argument `shuffle` of its own, which takes precedence.
        seed: int, of the shuffling; None draws one.
        pad_to: `"longest"` pads each batch to its longest row; `"full"` to the preprocessor's
            `sequence_length`; ints, such as `(32, 64, 128)`, to the smallest of them that the
            longest row fits. `"auto"` suits the device: XLA compiles a model again for each shape,
            so a batch gets one of four lengths where it compiles, and the full length on a TPU,
            where compiling takes minutes; elsewhere it is padded to its longest row.
        longest_first: bool, whether examples in memory come in the order of their lengths. With
            `pad_to="longest"` this is the fastest way to predict.
        bucket_lengths: ints, such as `(32, 64, 128)`: examples in memory that need the same one of
            these lengths are batched together and padded to it. Little is padding, and the model
            is compiled for few shapes.
        tokens_per_batch: int, in place of `batch_size`: with `bucket_lengths`, a batch has as many
            rows as make up so many tokens, padding included. Batches of short rows have more rows.
        drop_remainder: bool, whether a smaller last batch is left out in training. None leaves it
            out on a TPU only. Evaluation and prediction never leave out examples.

    Raises:
        ValueError: if a size is below 1, or arguments exclude each other.

    Example:
    >>> from keras_bert import Batching
    >>> Batching(batch_size=16, bucket_lengths=(32, 64, 128)).batch_size
    16
    """

    batch_size: int = 32
    shuffle: bool = False
    seed: int | None = None
    pad_to: str | Sequence[int] = "auto"
    longest_first: bool = False
    bucket_lengths: Sequence[int] | None = None
    tokens_per_batch: int | None = None
    drop_remainder: bool | None = None

    def __post_init__(self):
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1; got {self.batch_size}.")
        if isinstance(self.pad_to, str) and self.pad_to not in PAD_TO:
            raise ValueError(
                f"pad_to must be one of {', '.join(map(repr, PAD_TO))}, or a list of lengths; got "
                f"{self.pad_to!r}."
            )
        if not isinstance(self.pad_to, str) and (not self.pad_to or min(self.pad_to) < 1):
            raise ValueError(f"pad_to must hold lengths of at least 1; got {self.pad_to!r}.")
        if self.longest_first and (self.shuffle or self.bucket_lengths is not None):
            raise ValueError(
                "longest_first is an order by itself: leave out shuffle and bucket_lengths, or "
                "leave out longest_first."
            )
        self._check_buckets()

    def for_rows(self, longest: int) -> Batching:
        """This batching with what depends on the device and the data settled.

        Args:
            longest: int, the length of the longest row that there may be.

        Returns:
            A `Batching` whose `pad_to` is not `"auto"` and whose `drop_remainder` is a bool.

        Raises:
            ValueError: if the largest of `bucket_lengths` is shorter than the longest row.
        """
        if self.bucket_lengths is not None and max(self.bucket_lengths) < longest:
            raise ValueError(
                f"The largest of bucket_lengths must be at least {longest}, the length of the "
                f"longest row; got {list(self.bucket_lengths)}."
            )
        kind = device_kind()
        pad_to, drop = self.pad_to, self.drop_remainder
        if pad_to == "auto":
            is_compiled = keras.backend.backend() == "jax" or kind == "GPU"
            pad_to = "full" if kind == "TPU" else quarters(longest) if is_compiled else "longest"
        drop = kind == "TPU" if drop is None else drop
        return dataclasses.replace(self, pad_to=pad_to, drop_remainder=drop)

    def for_evaluation(self) -> Batching:
        """This batching with every example once, in their order."""
        return dataclasses.replace(self, shuffle=False, drop_remainder=False)

    def _check_buckets(self):
        if self.bucket_lengths is None:
            if self.tokens_per_batch is not None:
                raise ValueError(
                    "tokens_per_batch needs bucket_lengths, the lengths that batches are padded "
                    "to, for instance bucket_lengths=(32, 64, 128)."
                )
            return
        buckets = list(self.bucket_lengths)
        if not buckets or min(buckets) < 1:
            raise ValueError(f"bucket_lengths must hold lengths of at least 1; got {buckets}.")
        if self.tokens_per_batch is not None and self.tokens_per_batch < max(buckets):
            raise ValueError(
                f"tokens_per_batch={self.tokens_per_batch} leaves no room for a row of the largest "
                f"of bucket_lengths, {max(buckets)}. Give at least as much."
            )


def quarters(length: int) -> list[int]:
    """Returns four lengths for batches, the last the whole: little padding in few shapes."""
    return sorted({-(-length * part // 4) for part in (1, 2, 3, 4)})
