"""Documents of rows, of Parquet and of JSON lines: a row's text is read like a text file's."""

import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator

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

    def passages(self, span: Span, settings: Settings, reports: Reports) -> Passages:
        columns = [*filter(None, [settings.text_column, settings.language_column])]
        for number, (place, row) in enumerate(self.rows(span, columns)):
            text, language = [*(_text(row, name, place, reports) for name in columns), None][:2]
            if text is None:
                reports.add(NULLS, 1, place() if reports.wants_example(NULLS) else None)
                continue
            blocks = [text]
            if len(text) > decoding.BLOCK_BYTES // 4:  # cut as a text file is
                read = io.BytesIO(text.encode()).read
                pieces = decoding.byte_blocks(read, 0, math.inf, span.path)
                blocks = (piece.decode() for _, piece in pieces)
            blocks = (decoding.with_line_feeds(each, span.path, reports) for each in blocks)
            language = language or settings.language
            for part, rule, passages in text_passages(blocks, settings, language):
                yield (number, part), rule, passages


class JsonLinesReader(RowReader):
    """`RowReader` of JSON lines: `.jsonl`, and `.json` if it is compressed."""

    names = r"\.jsonl$|\.jsonl?(\.gz|\.bz2|\.zst)$"

    def rows(self, span: Span, columns: list[str]) -> Iterator[tuple[Callable[[], str], dict]]:
        begin, end = own_bytes(span, _EACH_LINE)
        blocks = decoding.text_blocks(span.path, begin, end, Reports())  # `_text` reports
        lines = itertools.chain.from_iterable(line_batches(blocks, MAX_LINE))
        for number, line in enumerate(lines):
            if not line or line.isspace():
                continue

            def place(number=number):
                after = f" after byte {begin:,}" if begin else ""
                return f"{span.path}, line {number + 1:,}{after}"

            if len(line) > MAX_LINE:
                raise ValueError(
                    f"{place()} has more than {MAX_LINE:,} characters. Write each object on a line "
                    "of its own; in Parquet, a text may be longer."
                )
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(f"it is of type {type(row).__name__}")
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{place()}: {shown(line)} is no JSON object: {error}") from error
            yield place, row


class ParquetReader(RowReader):
    """`RowReader` of Parquet files, cut between row groups and within them."""

    names = r"\.parquet$"

    def can_be_cut(self, path: str) -> bool:
        return True

    def rows(self, span: Span, columns: list[str]) -> Iterator[tuple[Callable[[], str], dict]]:
        for number, group, row in parquet_rows(span.path, columns, span.start, span.stop):
            yield lambda n=number, g=group: f"{span.path}, row {n:,} (row group {g})", row


def _text(row, name, place, reports):
    value = row.get(name)
    if name not in row or not isinstance(value, str | bytes | None):
        wrong = f"holds {shown(value)}, no text" if name in row else "isn't there"
        raise ValueError(
            f"{place()}: the column {name!r} {wrong}. The columns are: "
            f"{shortened(', '.join(row), 400)}. Pass another text_column or language_column."
        )
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")  # half a pair, escaped in JSON, is invalid
    return None if value is None else decoding.decode_utf8(value, reports, lambda offset: place())
