import bz2

import numpy as np
import pytest

from keras_bert.corpus.bz2_blocks import bz2_chunks


def packed_text(num_blocks=4, seed=0, level=1):
    """Text of about `num_blocks` blocks of 100 KB, hardly compressible."""
    text = np.random.default_rng(seed).integers(32, 127, num_blocks * 95_000, np.uint8).tobytes()
    return text, bz2.compress(text, level)


def own(path, start, stop):
    out = []
    for chunk, is_own in bz2_chunks(path, start, stop):
        if not is_own:
            break
        out.append(chunk)
    return b"".join(out)


def test_blocks_are_found_across_the_reads_of_the_search(tmp_path, monkeypatch):
    text, packed = packed_text(num_blocks=2)
    path = tmp_path / "x.bz2"
    path.write_bytes(packed)
    for num_bytes in (7, 11, 97, 4096):
        monkeypatch.setattr("keras_bert.corpus.bz2_blocks._READ_BYTES", num_bytes)
        assert own(path, 0, len(packed)) == text


@pytest.mark.parametrize("most", [2**21, 10_000])  # found at the end of the file, or before
def test_a_file_that_is_truncated_or_changed_is_refused(tmp_path, monkeypatch, most):
    monkeypatch.setattr("keras_bert.corpus.bz2_blocks._MAX_BLOCK_BYTES", most)
    text, packed = packed_text(num_blocks=2)
    path = tmp_path / "x.bz2"
    path.write_bytes(packed[:-1])  # only the final checksum is cut: no text is lost
    assert own(path, 0, len(packed)) == text
    changed = packed[:5000] + bytes([packed[5000] ^ 1]) + packed[5001:]
    for data in (packed[:-12], packed[: len(packed) // 2], packed[:20], changed):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"truncated or damaged: the block at byte \d"):
            own(path, 0, len(packed))
