"""Documents of rows, of Parquet and of JSON lines: a row's text is read like a text file's."""

import io
import itertools
import json
import math
import re
from collections.abc import Iterator

from keras_bert.corpus import decoding
from keras_bert.corpus.slices import Passages, Reader, Settings, Span
from keras_bert.corpus.text_documents import line_batches, own_bytes, text_passages
from keras_bert.files.parquet import parquet_rows
from keras_bert.messages import shortened, shown
from keras_bert.reports import Reports

NULLS = "rows whose text is null, skipped"

MAX_LINE = 2**26
"""Characters of the longest line of JSON that is read."""

_EACH_LINE = re.compile("")


class RowReader(Reader):
    """`Reader` of files whose `rows` each have a text: their places and values by column."""

    def passages(
        self,
        span: Span,
        settings: Settings,
        reports: Reports,
    ) -> Passages:
        columns = [settings.text_column]
        if settings.language_column is not None:
            columns.append(settings.language_column)
        for index, (place, row) in enumerate(self.rows(span, columns)):
            text = _text(row, settings.text_column, place, reports)
            if text is None:
                reports.add(NULLS, 1, place)
                continue
            language = settings.language
            if settings.language_column is not None:
                language = _text(row, settings.language_column, place, reports) or language
            for part, rule, passages in text_passages(_blocks(text, span), settings, language):
                yield (index, part), rule, passages


class JsonLinesReader(RowReader):
    """`RowReader` of JSON lines: `.jsonl`, and `.json` if it is compressed."""

    names = r"\.jsonl$|\.jsonl?(\.gz|\.bz2|\.zst)$"

    def rows(self, span: Span, columns: list[str]) -> Iterator[tuple[str, dict]]:
        begin, end = own_bytes(span, _EACH_LINE)
        blocks = decoding.text_blocks(span.path, begin, end, Reports())  # `_text` reports
        after = f" after byte {begin:,}" if begin else ""
        lines = itertools.chain.from_iterable(line_batches(blocks, MAX_LINE))
        for number, line in enumerate(lines, 1):
            if not line or line.isspace():
                continue
            place = f"{span.path}, line {number:,}{after}"
            if len(line) > MAX_LINE:
                raise ValueError(
                    f"{place} has more than {MAX_LINE:,} characters. Write each object on a line "
                    "of its own; in Parquet, a text may be longer."
                )
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(f"it is of type {type(row).__name__}")
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{place}: {shown(line)} is no JSON object: {error}") from error
            yield place, row


class ParquetReader(RowReader):
    """`RowReader` of Parquet files, cut between row groups and within them."""

    names = r"\.parquet$"

    def can_be_cut(self, path: str) -> bool:
        return True

    def rows(self, span: Span, columns: list[str]) -> Iterator[tuple[str, dict]]:
        for number, group, row in parquet_rows(span.path, columns, span.start, span.stop):
            yield f"{span.path}, row {number:,} (row group {group})", row


def _blocks(text, span):
    """Cuts a long text as a text file is cut."""
    if len(text) <= decoding.BLOCK_BYTES // 4:
        yield decoding.with_line_feeds(text)
        return
    read = io.BytesIO(text.encode()).read
    for _, data in decoding.byte_blocks(read, 0, math.inf, span.path):
        yield decoding.with_line_feeds(data.decode())


def _text(row, name, place, reports):
    value = row.get(name)
    if name not in row or not isinstance(value, str | bytes | None):
        wrong = f"holds {shown(value)}, no text" if name in row else "isn't there"
        raise ValueError(
            f"{place}: the column {name!r} {wrong}. The columns are: "
            f"{shortened(', '.join(row), 400)}. Pass another text_column or language_column."
        )
    if value is None:
        return None
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")  # half a pair, escaped in JSON, is invalid
    return decoding.decode_and_report(value, reports, place)
