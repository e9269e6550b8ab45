"""Random access to bzip2 files: unpacks a part without reading the bytes before it.

A bzip2 file is a sequence of blocks of up to 900 KB of text, compressed separately. A block can
start at any bit and begins with the same 48 bits (the "block magic", the digits of pi). A worker
can therefore unpack its own slice, whether the file has one stream or many. Python's `bz2` reads
each block as a stream and verifies its checksum.
"""

import bz2
import itertools
from collections.abc import Iterator

from keras_bert.files.remote import open_bytes

_BLOCK = 0x314159265359
_END = 0x177245385090
_READ_BYTES = 2**20
_MAX_BLOCK_BYTES = 2**21


def bz2_chunks(path: str, start: int, stop: int) -> Iterator[tuple[bytes, bool]]:
    """Yields `(bytes, own)` for each unpacked block after byte `start` of the compressed file.

    `own` is true for blocks that begin before byte `stop`; later ones may finish a page.
    """
    block = None  # first bit of the block to unpack next
    with open_bytes(path) as file:
        for bit, magic in _magics(path, start):
            text = None if block is None else _unpack(file, block, bit)
            if text is not None:
                yield text, block < 8 * stop
            elif block is not None and bit - block < 8 * _MAX_BLOCK_BYTES:
                continue  # these 48 bits also occur by chance, once in terabytes
            elif block is not None:
                break
            block = bit if magic == _BLOCK else None
    if block is not None:
        raise ValueError(
            f"{path} is truncated or damaged: the block at byte {block // 8:,} cannot be unpacked. "
            "Download the file again (bzip2 -t tests whether it is complete)."
        )


def _magics(path, start):
    """Yields `(bit offset, magic)` of the block starts and stream ends after byte `start`."""
    with open_bytes(path) as file:
        file.seek(start)
        data = file.read(_READ_BYTES)
        while data:
            kinds = itertools.product((_BLOCK, _END), range(8))
            found = ((bit, magic) for magic, shift in kinds for bit in _find(data, magic, shift))
            for bit, magic in sorted(found):
                yield 8 * start + bit, magic
            more = file.read(_READ_BYTES)
            if not more:
                return
            # A magic spans 7 bytes, or 6 with shift 0. Six are kept for the next read, and `_find`
            # leaves a 6-byte match at the very end to that read.
            start += len(data) - 6
            data = data[-6:] + more


def _find(data, magic, shift):
    """Yields the bit offsets of a magic whose first bit is bit `shift` of a byte."""
    inner = (magic << (8 - shift)).to_bytes(7, "big")[1:6]
    position = data.find(inner, 1)
    while position >= 0:
        bits = int.from_bytes(data[position - 1 : position + 6], "big") >> (8 - shift)
        if bits % 2**48 == magic:
            yield 8 * (position - 1) + shift
        position = data.find(inner, position + 1)


def _unpack(file, begin, end):
    """Unpacks the block in bits `begin` to `end`; returns None if these bits are not a block."""
    file.seek(begin // 8)
    bits = int.from_bytes(file.read(-(-end // 8) - begin // 8), "big") >> (-end % 8)
    num_bits = end - begin
    bits %= 2**num_bits
    checksum = (bits << 80 >> num_bits) % 2**32  # of the only block, after its magic
    stream = (bits << 80 | _END << 32 | checksum) << (-(num_bits + 80) % 8)
    unpacker = bz2.BZ2Decompressor()
    try:
        text = unpacker.decompress(b"BZh9" + stream.to_bytes(-(-(num_bits + 80) // 8), "big"))
    except OSError:
        return None
    return text if unpacker.eof else None
