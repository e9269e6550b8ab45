import bz2

import numpy as np
import pytest

from keras_bert.corpus.bz2_blocks import bz2_chunks

# Text of about two blocks of 100 KB, hardly compressible.
TEXT = np.random.default_rng(0).integers(32, 127, 190_000, np.uint8).tobytes()
PACKED = bz2.compress(TEXT, 1)


def own(path, start, stop):
    out = []
    for chunk, is_own in bz2_chunks(path, start, stop):
        if not is_own:
            break
        out.append(chunk)
    return b"".join(out)


def test_blocks_are_found_across_the_reads_of_the_search(write, monkeypatch):
    path = write(PACKED)
    for num_bytes in (7, 11, 97, 4096):
        monkeypatch.setattr("keras_bert.corpus.bz2_blocks._READ_BYTES", num_bytes)
        assert own(path, 0, len(PACKED)) == TEXT


@pytest.mark.parametrize("most", [2**21, 10_000])  # found at the end of the file, or before
def test_a_file_that_is_truncated_or_changed_is_refused(write, monkeypatch, most, refused):
    monkeypatch.setattr("keras_bert.corpus.bz2_blocks._MAX_BLOCK_BYTES", most)
    path = write(PACKED[:-1])  # only the final checksum is cut: no text is lost
    assert own(path, 0, len(PACKED)) == TEXT
    changed = PACKED[:5000] + bytes([PACKED[5000] ^ 1]) + PACKED[5001:]
    for data in (PACKED[:-12], PACKED[: len(PACKED) // 2], PACKED[:20], changed):
        path = write(data)
        refused(r"truncated or damaged: the block at byte \d", own, path, 0, len(PACKED))
