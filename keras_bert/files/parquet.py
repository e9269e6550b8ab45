"""Parquet files, read in batches of rows of a few megabytes."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from keras_bert.files.remote import import_pyarrow, open_bytes

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_BATCH_BYTES = 2**22
_MAX_BATCH_ROWS = 2**14


@contextlib.contextmanager
def open_parquet(path: str | os.PathLike) -> Iterator["pyarrow.parquet.ParquetFile"]:
    """Opens a Parquet file, local or remote; a ValueError if it is none."""
    arrow = import_pyarrow()
    from pyarrow.parquet import ParquetFile

    with open_bytes(path) as file:
        if not hasattr(file, "closed"):
            file.closed = False  # which TensorFlow's files lack
        try:
            # Buffers keep the memory small, however large a row group is.
            options = {"pre_buffer": False, "buffer_size": 2**20}
            opened = ParquetFile(file, **options, page_checksum_verification=True)
        except (arrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{path} is damaged, or no Parquet file: {error}. Download the file again."
            ) from error
        yield opened


def parquet_batches(
    path: str | os.PathLike,
    file: "pyarrow.parquet.ParquetFile",
    columns: list[str] | None = None,
    start: int = 0,
    stop: float = float("inf"),
) -> Iterator[tuple[int, int, Any]]:
    """Yields `(first row, row group, RecordBatch)` of the row groups that begin in some bytes.

    Rows and row groups count from 1 and from 0. A ValueError names a row group that is damaged.
    """
    arrow, row = import_pyarrow(), 1
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        chunks = [group.column(index) for index in range(group.num_columns)]
        offsets = [c.dictionary_page_offset or c.data_page_offset for c in chunks]
        if start <= min(offsets) < stop:
            size = _BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)
            size = min(max(size, 1), _MAX_BATCH_ROWS)
            first = row
            try:
                for batch in file.iter_batches(size, row_groups=[number], columns=columns):
                    yield first, number, batch
                    first += batch.num_rows
            except (arrow.ArrowException, OSError) as error:
                raise ValueError(
                    f"{path} is damaged: row group {number} of {file.num_row_groups}, from row "
                    f"{first:,}, can't be read: {error}. Download the file again."
                ) from error
        row += group.num_rows
