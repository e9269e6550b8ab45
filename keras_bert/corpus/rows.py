"""Documents of files with a row for each: Parquet, and JSON lines.

The text of a row is read as a text file of the same content.
"""

import json
import re
from collections.abc import Callable, Iterator

from keras_bert.corpus.decoding import (
    BROKEN,
    decode_utf8,
    has_byte_lines,
    line_number,
    text_blocks,
    with_line_feeds,
)
from keras_bert.corpus.slices import Passages, Reader, Settings, Span
from keras_bert.corpus.text_documents import own_bytes, text_passages
from keras_bert.files.parquet import open_parquet, parquet_batches
from keras_bert.messages import shortened, shown
from keras_bert.reports import Reports

NULLS = "rows whose text is null, skipped"

_EACH_LINE = re.compile("")
_TEXT = re.compile("(large_)?(string|binary)(_view)?|dictionary<values=(large_)?string.*|null")
_SURROGATE = re.compile("[\ud800-\udfff]")


class RowReader(Reader):
    """`Reader` of files that have a text in each row."""

    def rows(
        self, span: Span, columns: list[str], reports: Reports
    ) -> Iterator[tuple[Callable[[], str], list[str | None]]]:
        """Yields `(function that returns the place, values of the columns)` for each row."""

    def passages(self, span: Span, settings: Settings, reports: Reports) -> Passages:
        columns = [*filter(None, [settings.text_column, settings.language_column])]
        for row, (place, values) in enumerate(self.rows(span, columns, reports)):
            text, language = [*values, None][:2]
            if text is None:
                reports.add(NULLS, 1, place() if reports.wants_example(NULLS) else None)
                continue
            text = with_line_feeds(text, span.path, reports)
            passages = text_passages([text], settings, language or settings.language)
            for part, rule, paragraphs in passages:
                yield (row, part), rule, paragraphs


class JsonLinesReader(RowReader):
    """`RowReader` of JSON lines: `.jsonl`, and `.json` that is compressed."""

    def matches(self, name: str, packing: str) -> bool:
        return name.endswith((".jsonl", ".json") if packing else ".jsonl")

    def can_be_cut(self, path: str) -> bool:
        return has_byte_lines(path)

    def rows(self, span: Span, columns: list[str], reports: Reports):
        begin, end = own_bytes(span, _EACH_LINE)
        blocks = text_blocks(span.path, begin, end, reports)
        for number, line in enumerate(_whole_lines(blocks)):
            if not line or line.isspace():
                continue

            def place(number=number):
                return f"{span.path}, line {line_number(span.path, begin) + number:,}"

            try:
                row = json.loads(line)
                values = [row[name] for name in columns]
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{place()}: {shown(line)} is not JSON: {error}") from error
            except (TypeError, KeyError) as error:
                if not isinstance(row, dict):
                    raise ValueError(f"{place()}: {shown(line)} is no JSON object") from error
                raise _no_column(place(), error.args[0], row) from error
            for index, value in enumerate(values):
                if not isinstance(value, str | None):
                    kind = type(value).__name__
                    raise _not_text(place(), columns[index], kind, row)
                if value and "\\u" in line:  # half of a surrogate pair, written as an escape
                    values[index], count = _SURROGATE.subn("\ufffd", value)
                    if count:
                        reports.add(BROKEN, count, place())
            yield place, values


class ParquetReader(RowReader):
    """`RowReader` of Parquet files, cut between row groups."""

    def matches(self, name: str, packing: str) -> bool:
        return name.endswith(".parquet") and not packing

    def can_be_cut(self, path: str) -> bool:
        return True

    def expansion(self, path: str) -> int:
        return 2

    def rows(self, span: Span, columns: list[str], reports: Reports):
        with open_parquet(span.path) as file:
            names = file.schema_arrow.names
            for name in columns:
                if name not in names:
                    raise _no_column(span.path, name, names)
                kind = str(file.schema_arrow.field(name).type)
                if not _TEXT.fullmatch(kind):
                    raise _not_text(span.path, name, kind, names)
            batches = parquet_batches(
                span.path, file, [*dict.fromkeys(columns)], span.start, span.stop
            )
            for first, group, batch in batches:
                values = [batch.column(name).cast("large_binary").to_pylist() for name in columns]
                for row, cells in enumerate(zip(*values, strict=True), first):

                    def place(offset=0, row=row, group=group):
                        return f"{span.path}, row {row:,} (row group {group})"

                    yield place, [c and decode_utf8(c, reports, place) for c in cells]


def _whole_lines(blocks):
    """Yields the lines of blocks that may end inside a line."""
    begun = []
    for block in blocks:
        *lines, rest = block.split("\n")
        if lines:
            yield "".join([*begun, lines[0]])
            yield from lines[1:]
            begun = []
        begun.append(rest)
    yield "".join(begun)


def _no_column(place, name, columns):
    return ValueError(
        f"{place} has no column {name!r}. Its columns are: {shortened(', '.join(columns), 400)}. "
        "Pass one of them as text_column or language_column."
    )


def _not_text(place, name, kind, columns):
    return ValueError(
        f"{place}: the column {name!r} holds {kind}, not text. The columns are: "
        f"{shortened(', '.join(columns), 400)}."
    )
