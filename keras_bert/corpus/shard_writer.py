"""Writer of shards, TFRecord files of `tf.train.Example`, without TensorFlow."""

import contextlib
import functools
import os
import struct
from collections.abc import Iterator
from typing import IO

import numpy as np
import numpy.typing as npt

from keras_bert.files.remote import disk_full, is_disk_full
from keras_bert.files.whole import whole_file

COUNTS = ("num_records", "num_documents", "num_sentences", "num_tokens")


def token_dtype(vocabulary_size: int) -> str:
    """Returns the smallest dtype that holds every token id: "uint16" or "uint32"."""
    return "uint16" if vocabulary_size <= 2**16 else "uint32"


def shard_name(index: int, count: int) -> str:
    """Returns the file name of shard `index` of `count`."""
    return f"shard-{index:05d}-of-{count:05d}.tfrecord"


class ShardWriter:
    """Writer of one shard, which appears only if the `with` block ends without an error.

    After the block, `counts` is the shard's entry in `corpus.json`.

    Raises:
        OSError: if the disk is full or the folder is not writable; no partial file remains.

    Example:
    ```python
    with ShardWriter(f"{folder}/{shard_name(0, 1)}", "uint16") as shard:
        shard.write(document_id=7, token_ids=[12, 13, 14, 12], sentence_lengths=[3, 1])
    shard.counts["num_tokens"]  # 4
    ```
    """

    def __init__(self, path: str | os.PathLike, dtype: str):
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
        if lengths.sum() != len(tokens):
            raise ValueError(
                f"sentence_lengths add up to {lengths.sum()}; there are {len(tokens)} token_ids."
            )
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
def _shard_file(path) -> Iterator[IO[bytes]]:
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
    """Adds the length of a record and the checksums of both, as TFRecord has them."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def _masked_crc(data):
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _crc32c(data):
    """Returns the Castagnoli checksum of four bytes or more.

    The checksum is linear: equal parts of the data are processed side by side, and two neighbors
    are combined by moving the first one over as many zeros as the second one has bytes.
    """
    table = _crc_table()
    num_parts = 2 ** max(0, len(data).bit_length() - 6) if len(data) > 4096 else 1
    parts = np.zeros((num_parts, -(-len(data) // num_parts)), np.uint8)
    flat = parts.reshape(-1)
    begin = len(flat) - len(data)  # zeros before the data change nothing
    flat[begin:] = np.frombuffer(data, np.uint8)
    flat[begin : begin + 4] ^= 0xFF
    if num_parts == 1:
        state, small = 0, table.tolist()
        for byte in flat.tolist():
            state = small[(state ^ byte) & 0xFF] ^ state >> 8
        return state ^ 0xFFFFFFFF
    state = np.zeros(num_parts, np.uint32)
    zeros = 1 << np.arange(32, dtype=np.uint32)  # what the zeros make of each bit
    for column in parts.T:
        state = table[(state ^ column) & 0xFF] ^ state >> 8
        zeros = table[zeros & 0xFF] ^ zeros >> 8
    while len(state) > 1:
        state = _linear(zeros, state[::2]) ^ state[1::2]
        zeros = _linear(zeros, zeros)
    return int(state[0]) ^ 0xFFFFFFFF


def _linear(images, values):
    """Applies the linear map with these images of the 32 bits."""
    bits = values[:, None] >> np.arange(32, dtype=np.uint32) & 1
    return np.bitwise_xor.reduce(bits * images, axis=1)


@functools.cache
def _crc_table():
    """The effect of each byte on the checksum."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    return table
