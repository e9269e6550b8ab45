"""Spans of text files, decoded block by block; lost bytes are reported."""

import codecs
import dataclasses
import math
import os
import re
from collections.abc import Iterable, Iterator

from keras_bert.corpus.documents import (
    Passages,
    Settings,
    line_batches,
    text_passages,
    wrap_width,
)
from keras_bert.files.remote import open_bytes, open_unpacked, packing
from keras_bert.reports import Reports

BLOCK_BYTES = 2**20

_EXPANSIONS = {".gz": 3, ".bz2": 4, ".zst": 3, ".parquet": 2}  # bytes of text per byte, about

# UTF-32 comes first: its little-endian mark starts with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)

# A block ends after its last line end or space, or before a character. A final CR may precede LF.
_BLOCK = re.compile(rb".*\n|.*\r(?!\Z)|.* |.*(?=[^\x80-\xbf])|.*", re.DOTALL)

# A single document may be cut anywhere: preferably between paragraphs, then lines or words.
_CUTS = (
    rb"\r?\n\r?\n|\r\r(?!\n)",
    rb"\r\n|\n|\r(?!\n)",
    rb" ",
    rb"[\x80-\xbf]{0,4}",
)

BROKEN = "invalid byte sequences, dropped"
REPLACED = "replacement characters (U+FFFD), from an earlier faulty conversion"
_REPLACEMENT = "\ufffd".encode()


@dataclasses.dataclass(frozen=True)
class Span:
    """Bytes `start` to `stop` of an input file of `size` bytes, `changed` at a time.

    A document belongs to the span in which it begins. Each kind of file has a subclass, which
    reads it: see `corpus_plan.KINDS`.
    """

    path: str
    start: int
    stop: int
    size: int
    changed: int = 0

    @property
    def text_bytes(self) -> int:
        """Approximate number of bytes of text."""
        expansion = _EXPANSIONS.get(os.path.splitext(self.path)[1].lower(), 1)
        return (self.stop - self.start) * expansion

    def can_be_cut(self) -> bool:
        """Returns whether the file can be read in parts; a ValueError if it isn't of this kind."""
        # Only in UTF-8 are line ends single bytes.
        return not packing(self.path) and _encoding(self.path)[0] == "utf-8"

    def passages(self, settings: Settings, reports: Reports) -> Passages:
        """Yields the text of the span."""
        raise NotImplementedError

    def bounds(self, separator: re.Pattern | None) -> tuple[int, int]:
        """Moves both ends to the first document boundaries at or after them."""
        start = self._boundary(self.start, self.stop, separator)
        if start == self.size:
            return start, start
        return start, self._boundary(self.stop, self.size, separator)

    def _boundary(self, offset, limit, separator):
        """Finds the first offset in [offset, limit) where a document may begin, or the size."""
        if offset in (0, self.size):
            return offset
        if separator is None:
            return self._paragraph_boundary(offset)
        with open_bytes(self.path) as file:
            position = offset - 1
            file.seek(position)
            is_start = False  # the line containing offset - 1 began earlier
            while position < limit and (lines := file.readline(BLOCK_BYTES)):
                for line in re.split(rb"(?<=\r)(?=[^\n])", lines):
                    text = line.decode(errors="replace").rstrip("\r\n")
                    if is_start and position < limit and separator.search(text):
                        return position
                    position += len(line)
                    is_start = line.endswith((b"\r", b"\n"))
        return self.size

    def _paragraph_boundary(self, offset):
        with open_bytes(self.path) as file:
            file.seek(offset)
            data = file.read(BLOCK_BYTES // 16)
        cuts = (re.search(pattern, data) for pattern in _CUTS)
        return offset + next(filter(None, cuts)).end()


class TextSpan(Span):
    """`Span` of a `.txt` file, a single document if it has no separators."""

    def passages(self, settings: Settings, reports: Reports) -> Passages:
        start, stop = self.bounds(settings.separator)
        width = None
        if (start, stop) != (0, self.size):  # all spans of a file are read as its beginning is
            beginning = file_blocks(self.path, 0, self.size, Reports())
            width = wrap_width(next(line_batches(beginning), []))
        blocks = file_blocks(self.path, start, stop, reports)
        return text_passages(blocks, settings, settings.language, width)


def file_blocks(
    path: str,
    start: int,
    stop: float,
    reports: Reports,
) -> Iterator[str]:
    """Yields the text of a span of bytes, in `text_blocks`.

    Files in UTF-16 or UTF-32 have a byte order mark; they and compressed files are read whole.
    """
    encoding, mark = _encoding(path)
    start = max(start, mark)
    if packing(path) or encoding != "utf-8":
        stop = math.inf  # its size in UTF-8 is unknown
    chunks = _chunks(path, start, stop)
    if encoding != "utf-8":
        chunks = (text.encode() for text in codecs.iterdecode(chunks, encoding, "replace"))
    yield from text_blocks(chunks, start, stop, path, reports)


def text_blocks(
    chunks: Iterable[bytes],
    offset: int,
    stop: float,
    place: str,
    reports: Reports,
) -> Iterator[str]:
    r"""Decodes UTF-8 from `offset` to `stop`, in blocks of about 1 MB with "\n" line ends.

    Invalid sequences become U+FFFD, which the tokenizer drops, as Google's `convert_to_unicode`
    does. Blocks end at line endings, except inside lines longer than a block.
    """
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        cut = _BLOCK.match(data).end() if offset + len(data) < stop else len(data)
        yield decode_and_report(data[:cut], reports, place, offset)
        offset += cut
        rest = data[cut:]
    if rest:
        yield decode_and_report(rest, reports, place, offset)


def decode_and_report(
    data: bytes,
    reports: Reports,
    place: str,
    offset: int = 0,
) -> str:
    r"""Decodes UTF-8, with "\n" line ends; reports U+FFFD and invalid bytes, which become it."""
    num_replaced = data.count(_REPLACEMENT)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        num_broken = text.count("\ufffd") - num_replaced
        reports.add(BROKEN, num_broken, f"{place}, byte {offset + error.start:,}")
    if num_replaced:
        position = offset + data.index(_REPLACEMENT)
        reports.add(REPLACED, num_replaced, f"{place}, byte {position:,}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _encoding(path):
    """Detects `(encoding, length of the mark)` from a byte order mark; without one it is UTF-8."""
    with open_unpacked(path) as file:
        head = file.read(4096)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    # A character cut off at 4 KB counts as one invalid sequence, and so does a single stray byte.
    broken = head.decode(errors="replace").count("\ufffd")
    num_zeros = head.count(0)
    if num_zeros or broken > 1 and broken * 10 > len(head):
        raise ValueError(
            f"{path} is not a text file in UTF-8: of its first {len(head):,} bytes, {broken:,} are "
            f"invalid and {num_zeros:,} zero. Exclude it, or convert it first, for example: "
            f"iconv -f WINDOWS-1251 -t UTF-8 {path} > new.txt (UTF-16 with a mark is read, too)."
        )
    return "utf-8", 0


def _chunks(path, start, stop):
    """Yields the bytes of a span; one without an end ends with the file."""
    with open_unpacked(path) as file:
        skip = file.read if packing(path) else file.seek  # a decompressed stream can't seek
        skip(start)
        while start < stop:
            chunk = file.read(min(BLOCK_BYTES, stop - start))
            if not chunk:
                break
            yield chunk
            start += len(chunk)
    if start < stop < math.inf:
        raise ValueError(f"{path} shrank while it was read. Rerun the same command.")
