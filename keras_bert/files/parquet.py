"""Parquet files, read in batches of rows of about four megabytes."""

import math
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from keras_bert.files.remote import arrow_file, size_and_time

_BATCH_BYTES = 2**22
_PARTS = 16  # of a row group, which can't be read from its middle: rows before a part are skipped


def parquet_rows(
    path: str | os.PathLike,
    columns: Sequence[str] | None = None,
    start: int = 0,
    stop: float = math.inf,
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yields `(row number, row group, {column: value})`, of what begins in a span of bytes.

    Text is taken to be spread evenly over the file, and a row group has 16 equal parts. Rows count
    from 1, groups from 0.
    If one of the columns isn't there, the rows have all others.

    Raises:
        ValueError: if the file isn't Parquet, or one of its row groups is damaged.
    """
    with arrow_file(path) as (arrow, file):
        from pyarrow.parquet import ParquetFile

        # Buffers keep the memory small, however large a row group is.
        options = {"pre_buffer": False, "buffer_size": 2**20, "page_checksum_verification": True}
        table = ParquetFile(file, **options)
        names = table.schema_arrow.names
        if not names or len(set(names)) < len(names):
            wrong = "two columns of one name" if names else "no columns"
            raise ValueError(f"{path} has {wrong}: {', '.join(names)}. Save it with others.")
        if not set(columns or ()) <= set(names):
            columns = None
        file_size, _ = size_and_time(path)
        # The offsets in the file are those of columns, which end the process if they are damaged.
        groups = [table.metadata.row_group(index) for index in range(table.num_row_groups)]
        sizes = [max(group.total_byte_size, 1) for group in groups]
        scale = file_size / max(sum(sizes), 1)
        offset = 0
        next_row = 1
        for number, (group, num_bytes) in enumerate(zip(groups, sizes, strict=True)):
            first = next_row
            next_row += group.num_rows
            begins = [(offset + part * num_bytes / _PARTS) * scale for part in range(_PARTS)]
            offset += num_bytes
            first_part = bisect_left(begins, start)
            end_part = bisect_left(begins, stop)
            if first_part == end_part:
                continue
            begin = first + first_part * group.num_rows // _PARTS
            end = first + end_part * group.num_rows // _PARTS
            size = _BATCH_BYTES * group.num_rows // num_bytes
            size = min(max(size, 1), 2**14)  # rows
            try:
                for batch in table.iter_batches(size, [number], columns):
                    if first >= end:
                        break
                    if first + batch.num_rows > begin:
                        for row, values in enumerate(batch.to_pylist(), first):
                            if begin <= row < end:
                                yield row, number, values
                    first += batch.num_rows
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}, row group {number}: a text after row {first - 1:,} is not UTF-8 "
                    f"({error}). Save the column as binary, or clean it."
                ) from error
            except (arrow.ArrowException, OSError) as error:
                place = f"row group {number} of {table.num_row_groups}, from row {first:,}"
                raise OSError(f"{place}: {error}") from error
