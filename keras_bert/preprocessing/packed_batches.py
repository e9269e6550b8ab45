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
    numbers = best_fit(rows.num_tokens(), length, batching.sequences_per_row, seed)  # [rows, K]

    def make(part):
        is_used = numbers[part] >= 0
        unpacked = rows.batch(numbers[part][is_used], LONGEST)
        return packed(unpacked, is_used, length, packs)

    return row_batches(np.full(len(numbers), length), make, batching)


def best_fit(
    lengths: npt.ArrayLike,
    sequence_length: int,
    sequences_per_row: int | None = None,
    seed: int | None = None,
) -> np.ndarray:
    """Packs sequences into rows, the longest first, each into the fullest row that has room.

    Open rows are kept by their free tokens, so 400,000 sequences take two seconds. The number of
    rows and of their slots depends on the lengths alone; the seed orders those of equal lengths.

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
    open_rows = [[] for _ in range(sequence_length + 1)]  # the rows with each number of free tokens
    sizes = 0  # bit i is set if there is a row with i free tokens
    for number, length in zip(order.tolist(), lengths[order].tolist(), strict=True):
        enough = sizes >> length
        if enough:
            free = length + (enough & -enough).bit_length() - 1  # the lowest bit
            row = open_rows[free].pop()
            if not open_rows[free]:
                sizes ^= 1 << free
        else:
            free, row = sequence_length, []
            rows.append(row)
        row.append(number)
        if len(row) < limit:
            open_rows[free - length].append(row)
            sizes |= 1 << (free - length)
    packed = np.full((len(rows), max(map(len, rows), default=0)), -1)
    for index, row in enumerate(sorted(map(sorted, rows))):
        packed[index, : len(row)] = row
    return packed


def packed(unpacked: tuple, is_used: np.ndarray, length: int, packs: str) -> tuple:
    """Puts the rows of M sequences, `(inputs, labels, weights)`, into packed rows of S tokens.

    The rows are in the order of the slots that they get; `is_used`, bool `[B, K]`, are the slots
    that hold a sequence. See `BertPreprocessor.packs`.
    """
    inputs, *targets = unpacked
    row, slot = np.nonzero(is_used)  # [M]
    lengths = inputs["padding_mask"].sum(axis=1)
    of_slots = scattered((row, slot), lengths, is_used.shape)
    starts = np.where(is_used, np.cumsum(of_slots, axis=1) - of_slots, 0)  # [B, K]
    sequence, place = numbered(lengths, numpy_ops)  # of each token
    places = row[sequence], starts[row, slot][sequence] + place

    def of_tokens(values):  # [M, S'] to [B, S]
        return scattered(places, values[sequence, place], (len(is_used), length))

    def of_sequences(values):  # [M, ...] to [B, K, ...]
        return scattered((row, slot), values, is_used.shape)

    rows = {name: of_tokens(inputs[name]) for name in ("token_ids", "segment_ids")}
    numbers = (slot[sequence] + 1).astype("int32")
    rows["sequence_ids"] = scattered(places, numbers, (len(is_used), length))
    if packs == "tokens":
        return (rows, *map(of_tokens, targets))
    rows["cls_positions"] = starts.astype("int32")
    if not targets:
        return (rows,)
    labels, *weights = keras.tree.map_structure(of_sequences, targets)
    used = is_used.astype("float32")
    if packs == "positions":
        starts = rows["cls_positions"]
        labels = {n: np.where(is_used, starts + place, 0) for n, place in labels.items()}
        return rows, labels, dict.fromkeys(labels, used)
    return rows, labels, *(weights or [used])
