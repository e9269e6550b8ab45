"""Packing: several sequences share a row. M sequences of a batch, K of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_bert.corpus.best_fit import best_fit as best_fit_in_graph
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.row_batches import alone, map_rows, prefetched
from keras_bert.preprocessing.rows import Rows

if TYPE_CHECKING:  # which imports this module
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

SEQUENCES_PACKED_AT_ONCE = 1024  # of a stream: enough to fill the rows, few enough to wait for


def packed_batches(
    preprocessor: BertPreprocessor, rows: Rows, batching: Batching
) -> tf.data.Dataset:
    """Makes batches of packed rows.

    Which sequences share a row is fixed for all epochs, so that every epoch has the same number of
    batches. Shuffling draws a new order of the packed rows for each epoch. The seed decides among
    sequences of equal lengths.

    Args:
        preprocessor: a `BertPreprocessor` that packs.
        rows: the result of its `read`.
        batching: a `Batching` from `for_rows`.

    Returns:
        A `tf.data.Dataset` of known length. Inputs have `sequence_ids` `[B, S]` in place of
        `padding_mask`; those of classifiers and span labelers also have `cls_positions` `[B, K]`,
        and their labels and weights are `[B, K, ...]`, with weight 0 in unused slots. Tags and
        their weights are `[B, S]`. Answers are positions in the packed row.

    Raises:
        ValueError: if examples have numbers alongside text.
    """
    check_packable(getattr(rows, "extra_inputs", None))
    numbers = best_fit(
        rows.num_tokens(),
        preprocessor.sequence_length,
        batching.sequences_per_row,
        batching.seed if batching.shuffle else None,
    )
    dataset = tf.data.Dataset.from_tensor_slices(numbers)
    if batching.shuffle:
        dataset = dataset.shuffle(len(numbers), seed=batching.seed)
    dataset = dataset.batch(batching.batch_size, drop_remainder=bool(batching.drop_remainder))
    one_each = Batching(pad_to="longest")

    def make(numbers):
        is_used = numbers >= 0
        unpacked = rows.batch(tf.boolean_mask(numbers, is_used), one_each)
        return alone(_packed(preprocessor, is_used, *unpacked))

    return map_rows(dataset, make)


def packed_stream(
    preprocessor: BertPreprocessor, batches: tf.data.Dataset, batching: Batching
) -> tf.data.Dataset:
    """Packs the rows of a `tf.data.Dataset`, those of each large batch together, in the graph.

    Args:
        preprocessor: a `BertPreprocessor` that packs.
        batches: large batches of rows of one sequence each, as tuples.
        batching: a `Batching` from `for_rows`.

    Returns:
        A `tf.data.Dataset` as `packed_batches` makes it, of unknown length, with the rows in the
        order of their first sequences.
    """
    length = preprocessor.sequence_length
    most = batching.sequences_per_row or length // 2  # of [CLS] and [SEP] alone

    def pack(inputs, *targets):
        lengths = tf.reduce_sum(inputs["padding_mask"], axis=1)
        numbers = best_fit_in_graph(
            lengths,
            tf.zeros_like(lengths),
            sequence_length=length,
            max_predictions=0,
            sequences_per_row=most,
        )
        last = tf.size(lengths)
        numbers = tf.sort(tf.where(numbers < 0, last, numbers), axis=1)  # [rows, K]
        numbers = tf.gather(numbers, tf.argsort(numbers[:, 0]))
        is_used = tf.ensure_shape(numbers < last, [None, most])
        order = tf.boolean_mask(numbers, is_used)
        rows = tf.nest.map_structure(lambda part: tf.gather(part, order), (inputs, *targets))
        return _packed(preprocessor, is_used, *rows)

    packed = batches.map(tf.autograph.experimental.do_not_convert(pack), tf.data.AUTOTUNE)
    packed = packed.rebatch(batching.batch_size, drop_remainder=bool(batching.drop_remainder))
    return prefetched(packed.map(lambda *parts: alone(parts)))


def check_packable(extra_inputs: dict | None) -> None:
    """Raises a ValueError if examples have numbers alongside text."""
    if extra_inputs:
        raise ValueError(
            f"Texts with {', '.join(extra_inputs)} can't be packed, because a row has one value of "
            "these. Leave packed out of the Batching."
        )


def best_fit(
    lengths: npt.ArrayLike,
    sequence_length: int,
    sequences_per_row: int | None = None,
    seed: int | None = None,
) -> np.ndarray:
    """Packs sequences into rows, the longest first, each into the fullest row that has room.

    Open rows are kept by their free tokens, so 400,000 sequences take two seconds. The number of
    rows and of their slots depends on the lengths alone, not on the seed.

    Args:
        lengths: `[n]` ints, at most `sequence_length`.
        sequence_length: int, tokens that a row holds.
        sequences_per_row: int, the most sequences that a row holds; None for as many as fit.
        seed: int, for the order of sequences of equal lengths; None keeps the order.

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


def _packed(preprocessor, is_used, inputs, *targets):
    """Puts the rows of M sequences into packed rows; `is_used` is `[B, K]`."""
    counts = tf.reduce_sum(tf.cast(is_used, tf.int32), axis=1)  # [B]
    is_token = tf.cast(inputs["padding_mask"], tf.bool)  # [M, S']
    lengths = tf.reduce_sum(inputs["padding_mask"], axis=1)  # [M]
    own_lengths = tf.RaggedTensor.from_row_lengths(lengths, counts, validate=False)  # [B, (K)]
    row_lengths = tf.reduce_sum(own_lengths, axis=1)
    ends = tf.cumsum(own_lengths.to_tensor(shape=is_used.shape), axis=1)
    starts = tf.where(is_used, ends - own_lengths.to_tensor(shape=is_used.shape), 0)  # [B, K]

    def of_tokens(values):  # [M, S'] to [B, S]
        flat = tf.boolean_mask(values, is_token)
        ragged = tf.RaggedTensor.from_row_lengths(flat, row_lengths, validate=False)
        return ragged.to_tensor(shape=[None, preprocessor.sequence_length])

    def of_sequences(values):  # [M, ...] to [B, K, ...]
        ragged = tf.RaggedTensor.from_row_lengths(values, counts, validate=False)
        return ragged.to_tensor(shape=[None, is_used.shape[1], *values.shape[1:]])

    slots = 1 + tf.ragged.range(counts).flat_values  # [M]
    packed = {name: of_tokens(inputs[name]) for name in ("token_ids", "segment_ids")}
    packed["sequence_ids"] = of_tokens(tf.repeat(slots[:, None], tf.shape(is_token)[1], axis=1))
    if preprocessor.packs == "tokens":
        return (packed, *map(of_tokens, targets))
    packed["cls_positions"] = starts
    if not targets:
        return (packed,)
    labels, *weights = tf.nest.map_structure(of_sequences, targets)
    if preprocessor.packs == "positions":
        labels = {name: tf.where(is_used, starts + place, 0) for name, place in labels.items()}
        return packed, labels, dict.fromkeys(labels, tf.cast(is_used, tf.float32))
    return packed, labels, *(weights or [tf.cast(is_used, tf.float32)])
