"""Packing: several sequences share a row. M sequences of a batch, K of a row."""

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.batches import Batches, row_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.text_rows import LONGEST, Rows, scattered
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import numbered


def packed_batches(rows: Rows, batching: Batching, length: int, packs: str) -> Batches:
    """Makes batches of packed rows.

    Which sequences share a row is fixed for all epochs, so that every epoch has the same number of
    batches. Shuffling draws a new order of the packed rows for each epoch. The seed decides among
    sequences of equal lengths.

    Inputs have `sequence_ids` `[B, S]` in place of `padding_mask`; those of classifiers and span
    labelers also have `cls_positions` `[B, K]`, and their labels and weights are `[B, K, ...]`,
    with weight 0 in unused slots. Tags and their weights are `[B, S]`. Answers are positions in
    the packed row.
    """
    extra_inputs = getattr(rows, "extra_inputs", None)
    if extra_inputs:
        raise ValueError(f"Texts with {', '.join(extra_inputs)} can't be packed: leave packed out.")
    seed = batching.seed if batching.shuffle else None
    packing = best_fit(rows.num_tokens(), length, batching.sequences_per_row, seed)  # [rows, K]

    def make(row_numbers):
        sequences = packing[row_numbers]  # [B, K]
        is_used = sequences >= 0
        unpacked = rows.batch(sequences[is_used], LONGEST)
        return packed(unpacked, is_used, length, packs)

    lengths = np.full(len(packing), length)
    return row_batches(lengths, make, batching)


def best_fit(
    lengths: npt.ArrayLike,
    sequence_length: int,
    sequences_per_row: int | None = None,
    seed: int | None = None,
) -> np.ndarray:
    """Packs sequences into rows, the longest first, each into the fullest row that has room.

    400,000 sequences take two seconds. The number of rows and of their slots depends on the lengths
    alone; the seed orders those of equal lengths.

    Returns:
        int64 `[rows, K]`, the numbers of the sequences in each row, then -1 in unused slots. Both
        the sequences of a row and the rows are in the order of their numbers.

    Example:
    >>> best_fit([3, 4, 2, 5], sequence_length=7).tolist()
    [[0, 1], [2, 3]]
    """
    lengths = np.asarray(lengths)
    order = np.arange(len(lengths))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    order = order[np.argsort(-lengths[order], kind="stable")]
    limit = len(lengths) if sequences_per_row is None else sequences_per_row
    rows = []
    open_rows = _OpenRows(sequence_length)
    for sequence, length in zip(order.tolist(), lengths[order].tolist(), strict=True):
        row, free = open_rows.take_fullest(length)
        if not row:
            rows.append(row)
        row.append(sequence)
        if len(row) < limit:
            open_rows.add(row, free - length)
    most = max(map(len, rows), default=0)
    packed = np.full((len(rows), most), -1)
    for index, row in enumerate(sorted(map(sorted, rows))):
        packed[index, : len(row)] = row
    return packed


class _OpenRows:
    """Rows with room for more sequences, by their number of free tokens."""

    def __init__(self, sequence_length):
        self._sequence_length = sequence_length
        self._rows = [[] for _ in range(sequence_length + 1)]
        self._sizes = 0  # bit i is set if a row has i free tokens

    def add(self, row, free):
        self._rows[free].append(row)
        self._sizes |= 1 << free

    def take_fullest(self, length):
        """Takes the fullest row with room, `(row, free tokens)`; a new one if there is none."""
        large_enough = self._sizes >> length
        if not large_enough:
            return [], self._sequence_length
        lowest_bit = large_enough & -large_enough
        free = length + lowest_bit.bit_length() - 1
        row = self._rows[free].pop()
        if not self._rows[free]:
            self._sizes ^= 1 << free
        return row, free


def packed(unpacked: tuple, is_used: np.ndarray, length: int, packs: str) -> tuple:
    """Puts the rows of M sequences, `(inputs, labels, weights)`, into packed rows of S tokens.

    The rows are in the order of the slots that they get; `is_used`, bool `[B, K]`, are the slots
    that hold a sequence. See `BertPreprocessor.packs`.
    """
    inputs, *targets = unpacked
    row, slot = np.nonzero(is_used)  # [M]
    lengths = inputs["padding_mask"].sum(axis=1)

    def of_sequences(values):  # [M, ...] to [B, K, ...]
        return scattered((row, slot), values, is_used.shape)

    slot_lengths = of_sequences(lengths)
    slot_ends = np.cumsum(slot_lengths, axis=1)
    slot_starts = np.where(is_used, slot_ends - slot_lengths, 0)  # [B, K]
    sequence, offset = numbered(lengths, numpy_ops)  # of each token
    start = slot_starts[row, slot]  # [M]
    indices = (row[sequence], start[sequence] + offset)

    shape = (len(is_used), length)

    def of_tokens(values):  # [M, S'] to [B, S]
        return scattered(indices, values[sequence, offset], shape)

    rows = {name: of_tokens(inputs[name]) for name in ("token_ids", "segment_ids")}
    sequence_ids = (slot[sequence] + 1).astype("int32")
    rows["sequence_ids"] = scattered(indices, sequence_ids, shape)
    if packs == "tokens":
        return (rows, *map(of_tokens, targets))
    rows["cls_positions"] = slot_starts.astype("int32")
    if not targets:
        return (rows,)
    labels, *weights = keras.tree.map_structure(of_sequences, targets)
    used = is_used.astype("float32")
    if packs == "positions":
        for name, positions in labels.items():
            labels[name] = np.where(is_used, rows["cls_positions"] + positions, 0)
        return rows, labels, dict.fromkeys(labels, used)
    return rows, labels, *(weights or [used])
