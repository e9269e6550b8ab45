"""Windows: as many records as sentence pairs are planned from at once."""

import dataclasses

import tensorflow as tf

from keras_bert.corpus.shards import RECORD_FEATURES

RECORDS_PER_GROUP = 128
"""Records a group. A random next sentence comes from a document of the same group."""

SHARDS_READ_AT_ONCE = 16


@dataclasses.dataclass
class RecordGroup:
    """Some records, end to end. T tokens, M sentences, R records.

    Attributes:
        token_ids: int32 `[T]`.
        sentence_starts: int32 `[M + 1]`, where each sentence begins, and T.
        record_starts: int32 `[R + 1]`, the first sentence of each record, and M.
        document_ids: int64 `[R]`, the document of each record.
    """

    token_ids: tf.Tensor
    sentence_starts: tf.Tensor
    record_starts: tf.Tensor
    document_ids: tf.Tensor


def serialized_groups(shard_paths, seed):
    """The groups of one epoch, `(index, [R] strings)`, a function of the seed alone.

    Shards come in a random order, and the records of several are read in turn.

    Args:
        shard_paths: list of str.
        seed: int `[2]`, a stateless seed.
    """
    paths = tf.random.experimental.stateless_shuffle(tf.constant(shard_paths), seed)
    records = tf.data.Dataset.from_tensor_slices(paths).interleave(
        tf.data.TFRecordDataset,
        cycle_length=min(SHARDS_READ_AT_ONCE, len(shard_paths)),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )
    return records.batch(RECORDS_PER_GROUP).enumerate()


def num_groups(num_records):
    """The groups of an epoch over so many records."""
    return -(-num_records // RECORDS_PER_GROUP)


def parse_group(serialized, token_dtype):
    """A `RecordGroup` of serialized records `[R]`."""
    features = tf.io.parse_example(serialized, RECORD_FEATURES)
    lengths = features["sentence_lengths"]
    num_sentences = tf.strings.length(lengths) // 4
    sentence_lengths = tf.io.decode_raw(tf.strings.reduce_join(lengths), tf.int32)
    return RecordGroup(
        token_ids=_decode_tokens(tf.strings.reduce_join(features["token_ids"]), token_dtype),
        sentence_starts=starts(sentence_lengths),
        record_starts=starts(num_sentences),
        document_ids=features["document_id"],
    )


def starts(lengths):
    """Where each of the pieces of these lengths `[n]` begins, and the end of all: `[n + 1]`."""
    return tf.concat([[0], tf.cumsum(lengths)], axis=0)


def _decode_tokens(data, token_dtype):
    decoded_as = {"uint16": tf.uint16, "uint32": tf.int32}[token_dtype]
    return tf.cast(tf.io.decode_raw(data, decoded_as), tf.int32)
