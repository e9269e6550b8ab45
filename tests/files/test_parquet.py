"""Parquet files that are damaged are refused; pyarrow may end the process instead."""

import subprocess
import sys

import pytest

from keras_bert.files.parquet import parquet_rows

arrow = pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')

READ_DAMAGED = """
import sys
from keras_bert.files.parquet import parquet_rows

path = sys.argv[1]
data = open(path, "rb").read()
refused = 0
for place in range(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), len(data)):
    damaged = bytearray(data)
    damaged[place] ^= 4
    open(path, "wb").write(damaged)
    print(place, flush=True)
    try:
        list(parquet_rows(path))
    except ValueError:
        refused += 1
print("refused", refused)
"""


def test_no_flipped_bit_of_a_footer_ends_the_process(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"text": ["one", "two", None]}), path, row_group_size=2)
    command = [sys.executable, "-c", READ_DAMAGED, path]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, f"{process.stdout[-20:]} {process.stderr[-400:]}"
    assert int(process.stdout.split()[-1]) > 100


def test_spans_of_a_file_hold_each_row_once(tmp_path):
    from pyarrow import parquet

    path, texts = tmp_path / "rows.parquet", ["word " * (n % 7) for n in range(200)]
    parquet.write_table(arrow.table({"text": texts}), path, row_group_size=60)
    size = path.stat().st_size
    cuts = [0, 1, size // 3, size // 2, size - 1, size]
    parts = [list(parquet_rows(path, None, *span)) for span in zip(cuts, cuts[1:], strict=False)]
    rows = [row for part in parts for row in part]
    assert [number for number, *_ in rows] == [*range(1, 201)]
    assert [row["text"] for *_, row in rows] == texts
    assert len([part for part in parts if part]) > 2
