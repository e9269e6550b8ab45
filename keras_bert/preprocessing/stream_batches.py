"""Batches from a `tf.data.Dataset` of texts."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.extra_inputs import checked_targets, with_finite_check
from keras_bert.preprocessing.packed_batches import (
    SEQUENCES_PACKED_AT_ONCE,
    check_packable,
    packed_stream,
)
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.row_batches import alone, map_rows
from keras_bert.preprocessing.text_examples import text_batches

if TYPE_CHECKING:  # which imports this module
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


def stream_batches(
    preprocessor: BertPreprocessor, dataset: tf.data.Dataset, batching: Batching, with_labels: bool
) -> tf.data.Dataset:
    """Reads texts batch by batch, in the graph; see `BertPreprocessor.batches`.

    Raises:
        ValueError: if the dataset doesn't yield texts, or the batching needs texts in memory.
    """
    if batching.bucket_lengths is not None or batching.longest_first:
        raise ValueError(
            "A dataset's texts can't be sorted by length: bucket_lengths and longest_first need "
            "them in memory, as a list."
        )
    batching = batching.for_rows(preprocessor.sequence_length)
    size, drop = batching.batch_size, batching.drop_remainder
    dataset = text_batches(dataset, size, with_labels, preprocessor.max_texts)
    if batching.packed:
        check_packable(dataset.element_spec[1])
        dataset = dataset.rebatch(SEQUENCES_PACKED_AT_ONCE)
    elif drop:
        dataset = dataset.rebatch(size, drop_remainder=True)

    def read(columns, extra, rest, batching=batching):
        targets = ()
        if rest and with_labels:
            rest = checked_targets(rest)
            targets = (preprocessor.stream_targets(rest[0]), *rest[1:])
        token_ids = tuple(
            preprocessor.graph_tokenizer(preprocessor.texts(each)) for each in columns
        )
        rows = preprocessor.rows(token_ids, with_finite_check(extra), targets)
        return rows.batch(tf.range(rows.columns[0].nrows()), batching)

    if batching.packed:
        unpacked = tf.autograph.experimental.do_not_convert(
            functools.partial(read, batching=Batching(pad_to="longest"))
        )
        return packed_stream(preprocessor, dataset.map(unpacked, tf.data.AUTOTUNE), batching)
    if not preprocessor.cuts_windows:
        return map_rows(dataset, lambda *batch: alone(read(*batch)))
    whole = dataclasses.replace(batching, pad_to="full")
    cut = tf.autograph.experimental.do_not_convert(functools.partial(read, batching=whole))
    windows = dataset.map(cut, tf.data.AUTOTUNE)
    windows = windows.unbatch().batch(size, drop_remainder=drop)
    return map_rows(windows, lambda inputs, *rest: alone((trimmed(inputs, batching), *rest)))
