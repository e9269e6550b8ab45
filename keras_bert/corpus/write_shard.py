"""Writer of shards, TFRecord files of `tf.train.Example`, without TensorFlow."""

import os
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_bert.corpus.shards import COUNTS
from keras_bert.files.whole import whole_file
from keras_bert.messages import missing

try:
    import google_crc32c
except ImportError:
    google_crc32c = None


def write_shard(
    path: str | os.PathLike, dtype: str, records: Iterable[tuple], unk_token_id: int = 1
) -> dict[str, Any]:
    """Writes a shard whole or not at all; returns its entry in `corpus.json`.

    Records are `(document_id, token_ids, sentence_lengths)`, those of a document consecutive.

    Example:
    ```python
    counts = write_shard("shard-00000-of-00001.tfrecord", "uint16", [(7, [12, 13, 14, 12], [3, 1])])
    counts["num_tokens"]  # 4
    ```
    """
    if google_crc32c is None:
        raise missing("google-crc32c", "corpus")
    dtype, last_id = np.dtype(dtype).newbyteorder("<"), None
    counts, length = dict.fromkeys((*COUNTS, "num_bytes", "longest_document"), 0), 0
    with whole_file(path, "wb") as file:
        for document_id, token_ids, sentence_lengths in records:
            lengths, tokens = np.asarray(sentence_lengths, "<u4"), np.asarray(token_ids, dtype)
            record = _framed(_example(document_id, lengths.tobytes(), tokens.tobytes()))
            file.write(record)
            counts["num_bytes"] += len(record)
            counts["num_records"] += 1
            counts["num_documents"] += document_id != last_id
            counts["num_sentences"] += len(lengths)
            counts["num_tokens"] += len(tokens)
            counts["num_unknown"] += int(np.count_nonzero(tokens == unk_token_id))
            length = len(tokens) + (length if document_id == last_id else 0)
            counts["longest_document"] = max(counts["longest_document"], length)
            last_id = document_id
    return {"name": os.path.basename(path), **counts}


def _example(document_id, sentence_lengths, token_ids):
    """Serializes a `tf.train.Example`; its features are sorted, as protobuf sorts them."""
    features = (
        (b"document_id", 3, _field(1, _varint(document_id))),  # int64_list
        (b"sentence_lengths", 1, _field(1, sentence_lengths)),  # bytes_list
        (b"token_ids", 1, _field(1, token_ids)),
    )
    entries = (_field(1, name) + _field(2, _field(kind, values)) for name, kind, values in features)
    return _field(1, b"".join(_field(1, entry) for entry in entries))


def _field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value):
    """Encodes a number as protobuf does, seven bits a byte."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def _framed(data):
    """Adds the length of a record and the Castagnoli checksums of both, as TFRecord has them."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def _masked_crc(data):
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
