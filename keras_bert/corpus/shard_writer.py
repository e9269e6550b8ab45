"""Writer of shards, TFRecord files of `tf.train.Example`, without TensorFlow."""

import contextlib
import os
import struct

import numpy as np
import numpy.typing as npt

from keras_bert.corpus.shards import COUNTS
from keras_bert.files.remote import disk_full, is_disk_full
from keras_bert.files.whole import whole_file
from keras_bert.messages import missing

try:
    import google_crc32c
except ImportError:
    google_crc32c = None


class ShardWriter:
    """Writer of one shard, which appears only if the `with` block ends without an error.

    After the block, `counts` is the shard's entry in `corpus.json`.

    Example:
    ```python
    with ShardWriter("shard-00000-of-00001.tfrecord", "uint16") as shard:
        shard.write(document_id=7, token_ids=[12, 13, 14, 12], sentence_lengths=[3, 1])
    shard.counts["num_tokens"]  # 4
    ```
    """

    def __init__(self, path: str | os.PathLike, dtype: str):
        if google_crc32c is None:
            raise missing("google-crc32c", "corpus")
        self.path = os.fspath(path)
        self.dtype = np.dtype(dtype).newbyteorder("<")
        counts = dict.fromkeys((*COUNTS, "num_bytes"), 0)
        self.counts = {"name": os.path.basename(self.path), **counts}
        self._last_document_id = None

    def write(
        self, document_id: int, token_ids: npt.ArrayLike, sentence_lengths: npt.ArrayLike
    ) -> None:
        """Adds a record; the pieces of a document must be consecutive."""
        lengths = np.asarray(sentence_lengths, "<u4")
        tokens = np.asarray(token_ids, self.dtype)
        record = _framed(_example(document_id, lengths.tobytes(), tokens.tobytes()))
        self._file.write(record)
        self.counts["num_bytes"] += len(record)
        self.counts["num_records"] += 1
        self.counts["num_documents"] += document_id != self._last_document_id
        self.counts["num_sentences"] += len(lengths)
        self.counts["num_tokens"] += len(tokens)
        self._last_document_id = document_id

    def __enter__(self):
        self._opened = _shard_file(self.path)
        self._file = self._opened.__enter__()
        return self

    def __exit__(self, *error):
        return self._opened.__exit__(*error)


@contextlib.contextmanager
def _shard_file(path):
    try:
        with whole_file(path, "wb") as file:
            yield file
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise disk_full(path, error) from error


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
