"""Decoding of text files: encodings and line endings are fixed, and every fix is reported."""

import codecs
import contextlib
import math
from collections.abc import Callable, Iterator

from keras_bert.files.remote import open_unpacked, packing
from keras_bert.reports import Reports

BLOCK_BYTES = 2**20

# UTF-32 comes first: its little-endian mark starts with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)

BROKEN = "invalid byte sequences, dropped"
REPLACED = "replacement characters (U+FFFD), from an earlier faulty conversion"
NUL = "NUL characters"
CRLF = "lines that end in CR LF"
BARE_CR = "lines that end in a bare CR"
MARK = "files that start with a byte order mark"


def detect_encoding(path: str) -> tuple[str, int]:
    """Detects `(encoding, length of the mark)` from a byte order mark; without one it is UTF-8."""
    with open_unpacked(path) as file:
        head = file.read(4096)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    if b"\0" in head:
        raise ValueError(
            f"{path} is not a text file: it has a zero byte at offset {head.index(0)}. Exclude it; "
            "or, if it is UTF-16, save it with a byte order mark or as UTF-8."
        )
    # A character cut off at 4 KB counts as one invalid sequence, and so does a single stray byte.
    broken = head.decode("utf-8", "replace").count("\ufffd")
    if broken > 1 and broken * 10 > len(head):
        raise ValueError(
            f"{path} is not UTF-8: {broken:,} of its first {len(head):,} bytes are invalid. "
            f"Convert it first, for example: iconv -f WINDOWS-1251 -t UTF-8 {path} > new.txt"
        )
    return "utf-8", 0


def text_blocks(path: str, begin: int, end: int, reports: Reports) -> Iterator[str]:
    r"""Yields a span of bytes of a text file as strings of about 1 MB with "\n" line ends.

    Invalid sequences become U+FFFD, which the tokenizer drops, as Google's `convert_to_unicode`
    does. Blocks end at line endings, except inside lines longer than a block. Files in UTF-16 or
    UTF-32 have a byte order mark and are read whole.
    """
    encoding, mark = detect_encoding(path)
    is_start = begin == 0
    if mark and is_start:
        begin = mark
        reports.add(MARK, 1, f"{path}: {encoding}")
    if packing(path) or encoding != "utf-8":
        end = math.inf  # until the text ends: its size in UTF-8 is unknown
    with _reading(path, begin) as read:
        for offset, data in byte_blocks(read, begin, end, path):

            def place(position, start=offset):
                byte = f"byte {position + start:,}"
                if not is_start:  # each slice of a file would count all lines before it
                    return f"{path}, {byte}"
                return f"{path}, line {line_number(path, position + start):,} ({byte})"

            yield with_line_feeds(decode_utf8(data, reports, place), path, reports)


def byte_blocks(
    read: Callable[[int], bytes], offset: int, end: float, path: str
) -> Iterator[tuple[int, bytes]]:
    """Yields the offset and the bytes of each block that `text_blocks` decodes."""
    carry, more = b"", True
    while more and offset + len(carry) < end:
        more = read(min(BLOCK_BYTES, end - offset - len(carry)))
        if not more and end != math.inf:
            raise ValueError(f"{path} shrank while it was read. Rerun the same command.")
        data = carry + more
        is_last = not more or offset + len(data) >= end
        cut = len(data) if is_last else _last_line_end(data)
        yield offset, data[:cut]
        offset, carry = offset + cut, data[cut:]


def with_line_feeds(text: str, path: str, reports: Reports) -> str:
    r"""Returns a text with "\n" line ends; reports others and NUL characters."""
    num_crlf = text.count("\r\n")
    num_bare = text.count("\r") - num_crlf
    for kind, count in ((CRLF, num_crlf), (BARE_CR, num_bare), (NUL, text.count("\0"))):
        if count:
            reports.add(kind, count, str(path))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_utf8(data: bytes, reports: Reports, place: Callable[[int], str]) -> str:
    """Decodes UTF-8; invalid sequences become U+FFFD and are reported at a `place(offset)`."""

    def report(kind, count, offset):
        reports.add(kind, count, place(offset) if reports.wants_example(kind) else None)

    num_replaced = data.count(b"\xef\xbf\xbd")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        report(BROKEN, text.count("\ufffd") - num_replaced, error.start)
    if num_replaced:
        report(REPLACED, num_replaced, data.index(b"\xef\xbf\xbd"))
    return text


@contextlib.contextmanager
def _reading(path, begin):
    """Provides a function that reads UTF-8 after a byte, whatever the encoding of the file."""
    encoding, _ = detect_encoding(path)
    decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read_wide(size):
        data = file.read(size)
        return decoder.decode(data, not data).encode()

    with open_unpacked(path) as file:
        (file.read if packing(path) else file.seek)(begin)  # unpacked bytes can only be read
        yield file.read if encoding == "utf-8" else read_wide


def _last_line_end(data):
    # A final CR may be half of a CR LF.
    cut = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1 or data.rfind(b" ") + 1
    if not cut:  # before the last character's first byte
        cut = len(data) - 1
        while cut > max(0, len(data) - 4) and data[cut] & 0xC0 == 0x80:
            cut -= 1
    return cut


def line_number(path: str, position: int) -> int:
    """Returns the number of the line that has a byte of a text file, counted in UTF-8."""
    number, last, mark = 1, b"", detect_encoding(path)[1]
    position -= mark
    with _reading(path, mark) as read:
        while position > 0 and (data := read(BLOCK_BYTES)[:position]):
            position -= len(data)
            number += data.count(b"\n") + data.count(b"\r") - (last + data).count(b"\r\n")
            last = data[-1:] if data[-1:] == b"\r" else b""
    return number
