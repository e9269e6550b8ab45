"""Groups of records: the unit from which sentence pairs are planned."""

import dataclasses

import tensorflow as tf

from keras_bert.corpus.shards import Corpus

RECORD_FEATURES = {
    "token_ids": tf.io.FixedLenFeature([], tf.string),
    "sentence_lengths": tf.io.FixedLenFeature([], tf.string),
    "document_id": tf.io.FixedLenFeature([], tf.int64),
}
"""Features of a record of a shard, for `tf.io.parse_example`."""

RECORDS_PER_GROUP = 128
"""Records per group. A random next sentence comes from another document in the same group."""

SHARDS_READ_AT_ONCE = 16

_END = ""  # follows the last record of a shard; no record is empty


@dataclasses.dataclass
class RecordGroup:
    """Concatenated records: T tokens, M sentences, R records."""

    token_ids: tf.Tensor  # int32 [T]
    sentence_starts: tf.Tensor  # int32 [M + 1], the first token of each sentence, and T
    record_starts: tf.Tensor  # int32 [R + 1], the first sentence of each record, and M
    document_ids: tf.Tensor  # int64 [R], the document of each record


def serialized_groups(corpus: Corpus, seed: tf.Tensor) -> tf.data.Dataset:
    """Reads the groups of one epoch, each `(index, [R] strings)`, in an order set by the seed.

    The records of up to 16 shards are interleaved. A damaged shard ends in an error that names it.
    """
    num_shards = len(corpus.shards)
    num_records = [shard["num_records"] for shard in corpus.shards]
    order = tf.random.experimental.stateless_shuffle(tf.range(num_shards), seed)
    paths = tf.gather(corpus.shard_paths, order)
    counts = tf.gather(tf.constant(num_records, tf.int64), order)
    records = tf.data.Dataset.from_tensor_slices((paths, counts)).interleave(
        _shard_records,
        cycle_length=min(SHARDS_READ_AT_ONCE, num_shards),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )
    return records.batch(RECORDS_PER_GROUP).enumerate()


def _shard_records(path, count):
    """Reads the records of a shard; TensorFlow's error at a damaged one doesn't name the file."""
    message = (
        "This shard of the corpus is damaged or was truncated while it was read: copy it again, or "
        "prepare the corpus again. Path, records found, records written:"
    )

    def whole(index, record):
        is_whole = (record != _END) | (index == count)
        asserted = tf.debugging.Assert(is_whole, [message, path, index, count], summarize=3)
        with tf.control_dependencies([asserted]):
            return tf.identity(record)

    records = tf.data.TFRecordDataset(path).ignore_errors()
    records = records.concatenate(tf.data.Dataset.from_tensors(_END)).enumerate()
    return records.map(whole).filter(lambda record: record != _END)


def num_groups(num_records: int) -> int:
    """Counts the groups of an epoch."""
    return -(-num_records // RECORDS_PER_GROUP)


def parse_group(serialized: tf.Tensor, token_dtype: str) -> RecordGroup:
    """Parses serialized records `[R]` into a `RecordGroup`."""
    features = tf.io.parse_example(serialized, RECORD_FEATURES)
    lengths = features["sentence_lengths"]
    num_sentences = tf.strings.length(lengths) // 4
    sentence_lengths = tf.io.decode_raw(tf.strings.reduce_join(lengths), tf.int32)
    decoded_as = {"uint16": tf.uint16, "uint32": tf.int32}[token_dtype]
    token_ids = tf.io.decode_raw(tf.strings.reduce_join(features["token_ids"]), decoded_as)
    return RecordGroup(
        token_ids=tf.cast(token_ids, tf.int32),
        sentence_starts=_starts(sentence_lengths),
        record_starts=_starts(num_sentences),
        document_ids=features["document_id"],
    )


def _starts(lengths):
    """Returns the starts of consecutive pieces with lengths `[n]`, then the total: `[n + 1]`."""
    return tf.cumsum(tf.pad(lengths, [[1, 0]]))
