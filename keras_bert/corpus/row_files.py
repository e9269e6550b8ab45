"""Spans of files of rows, Parquet and JSON lines: a row's text is read like a text file's."""

import itertools
import json
import re
from bisect import bisect_left
from collections.abc import Iterator

from keras_bert.corpus.documents import Passages, Settings, line_batches, text_passages
from keras_bert.corpus.text_files import (
    BLOCK_BYTES,
    Span,
    decode_and_report,
    file_blocks,
    text_blocks,
)
from keras_bert.files.remote import arrow_file
from keras_bert.messages import shortened, shown
from keras_bert.reports import Reports

NULLS = "rows whose text is null, skipped"

MAX_LINE = 2**26
"""Characters after which a line of JSON is cut, which makes it invalid."""

_EACH_LINE = re.compile("")
_BATCH_BYTES = 2**22  # of Parquet, read at once
_PARTS = 16  # of a row group, which can't be read from its middle: rows before a part are skipped


class RowSpan(Span):
    """`Span` of a file whose `rows` each have a text."""

    def rows(self, columns: list[str]) -> Iterator[tuple[str, dict]]:
        """Yields each row's place and its values by column, of all columns if one is missing."""
        raise NotImplementedError

    def passages(self, settings: Settings, reports: Reports) -> Passages:
        columns = [settings.text_column]
        if settings.language_column is not None:
            columns.append(settings.language_column)
        for index, (place, row) in enumerate(self.rows(columns)):
            text = _encoded(row, settings.text_column, place)
            if text is None:
                reports.add(NULLS, 1, place)
                continue
            language = settings.language
            for column in columns[1:]:
                code = _encoded(row, column, place) or b""
                language = decode_and_report(code, reports, place) or language
            chunks = [text[i : i + BLOCK_BYTES] for i in range(0, len(text), BLOCK_BYTES)]
            blocks = text_blocks(chunks, 0, len(text), place, reports)
            for part, rule, passages in text_passages(blocks, settings, language):
                yield (index, part), rule, passages


class JsonLinesSpan(RowSpan):
    """`RowSpan` of JSON lines: `.jsonl`, and `.json` if it is compressed."""

    def rows(self, columns: list[str]) -> Iterator[tuple[str, dict]]:
        start, stop = self.bounds(_EACH_LINE)
        blocks = file_blocks(self.path, start, stop, Reports())  # rows report lost bytes
        after = f" after byte {start:,}" if start else ""
        lines = itertools.chain.from_iterable(line_batches(blocks, MAX_LINE))
        for number, line in enumerate(lines, 1):
            if not line or line.isspace():
                continue
            place = f"{self.path}, line {number:,}{after}"
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(f"it is of type {type(row).__name__}")
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{place}: {shown(line)} is no JSON object of at most {MAX_LINE:,} characters: "
                    f"{error}"
                ) from error
            yield place, row


class ParquetSpan(RowSpan):
    """`RowSpan` of a Parquet file, cut between row groups and within them.

    Text is taken to be spread evenly over the file, and a row group has 16 equal parts, which
    belong to the span in which they begin.
    """

    def can_be_cut(self) -> bool:
        return True

    def rows(self, columns: list[str]) -> Iterator[tuple[str, dict]]:
        with arrow_file(self.path) as (arrow, file):
            from pyarrow.parquet import ParquetFile

            # Buffers keep the memory small, however large a row group is.
            table = ParquetFile(
                file, pre_buffer=False, buffer_size=2**20, page_checksum_verification=True
            )
            names = table.schema_arrow.names
            for column in columns:
                if names.count(column) > 1:
                    raise ValueError(f"{self.path} has two columns {column!r}: rename one of them.")
            if not set(columns) <= set(names):
                columns = None
            for index, row, wanted, batch_rows in self._row_groups(table.metadata):
                try:
                    for batch in table.iter_batches(batch_rows, [index], columns):
                        if row >= wanted.stop:
                            break
                        if row + batch.num_rows > wanted.start:
                            for number, values in enumerate(batch.to_pylist(), row):
                                if number in wanted:
                                    yield f"{self.path}, row {number:,} (row group {index})", values
                        row += batch.num_rows
                except UnicodeDecodeError as error:
                    raise ValueError(
                        f"{self.path}, row group {index}: a text after row {row - 1:,} is not "
                        f"UTF-8 ({error}). Save the column as binary, or clean it."
                    ) from error
                except (arrow.ArrowException, OSError) as error:
                    place = f"row group {index} of {table.num_row_groups}, from row {row:,}"
                    raise OSError(f"{place}: {error}") from error

    def _row_groups(self, metadata):
        """Yields `(index, first row, rows in this span, rows of a batch)`; rows count from 1."""
        # The offsets in the file are those of columns, which end the process if they are damaged.
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        sizes = [max(group.total_byte_size, 1) for group in groups]
        scale = self.size / max(sum(sizes), 1)
        group_start = 0
        first_row = 1
        for index, (group, num_bytes) in enumerate(zip(groups, sizes, strict=True)):
            part_starts = [
                (group_start + part * num_bytes / _PARTS) * scale for part in range(_PARTS)
            ]
            ends = []
            for end in (self.start, self.stop):
                part = bisect_left(part_starts, end)
                ends.append(first_row + part * group.num_rows // _PARTS)
            if wanted := range(*ends):
                batch_rows = _BATCH_BYTES * group.num_rows // num_bytes
                yield index, first_row, wanted, min(max(batch_rows, 1), 2**14)
            group_start += num_bytes
            first_row += group.num_rows


def _encoded(row, column, place):
    value = row.get(column)
    if column not in row or not isinstance(value, str | bytes | None):
        wrong = f"holds {shown(value)}, no text" if column in row else "isn't there"
        raise ValueError(
            f"{place}: the column {column!r} {wrong}. The columns are: "
            f"{shortened(', '.join(row), 400)}. Pass another text_column or language_column."
        )
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")  # half a pair, escaped in JSON, is invalid
    return value
