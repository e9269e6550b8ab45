"""Decoding of text files to UTF-8 with line feeds; lost bytes are reported."""

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
_REPLACEMENT = "\ufffd".encode()


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


def text_blocks(
    path: str,
    begin: int,
    end: int,
    reports: Reports,
) -> Iterator[str]:
    r"""Yields a span of bytes of a text file as strings of about 1 MB with "\n" line ends.

    Invalid sequences become U+FFFD, which the tokenizer drops, as Google's `convert_to_unicode`
    does. Blocks end at line endings, except inside lines longer than a block. Files in UTF-16 or
    UTF-32 have a byte order mark and are read whole.
    """
    encoding, mark = detect_encoding(path)
    begin = max(begin, mark)
    if packing(path) or encoding != "utf-8":
        end = math.inf  # until the text ends: its size in UTF-8 is unknown
    with _reader(path, begin, encoding) as read:
        for offset, data in byte_blocks(read, begin, end, path):
            yield with_line_feeds(decode_and_report(data, reports, path, offset))


def byte_blocks(
    read: Callable[[int], bytes],
    offset: int,
    end: float,
    path: str,
) -> Iterator[tuple[int, bytes]]:
    """Yields the offset and the bytes of each block that `text_blocks` decodes."""
    carry = b""
    is_last = False
    while not is_last and offset + len(carry) < end:
        new = read(min(BLOCK_BYTES, end - offset - len(carry)))
        if not new and end != math.inf:
            raise ValueError(f"{path} shrank while it was read. Rerun the same command.")
        data = carry + new
        is_last = not new or offset + len(data) >= end
        cut = len(data) if is_last else _last_break(data)
        yield offset, data[:cut]
        offset += cut
        carry = data[cut:]


def with_line_feeds(text: str) -> str:
    r"""Returns a text with "\n" line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_and_report(
    data: bytes,
    reports: Reports,
    place: str,
    offset: int = 0,
) -> str:
    """Decodes UTF-8; reports invalid sequences, which become U+FFFD, and those already there."""
    num_replaced = data.count(_REPLACEMENT)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        num_broken = text.count("\ufffd") - num_replaced
        reports.add(BROKEN, num_broken, f"{place}, byte {offset + error.start:,}")
    if num_replaced:
        first = data.index(_REPLACEMENT)
        reports.add(REPLACED, num_replaced, f"{place}, byte {offset + first:,}")
    return text


@contextlib.contextmanager
def _reader(path, begin, encoding):
    """Provides a function that reads a file from a byte on, converting it to UTF-8."""
    with open_unpacked(path) as file:
        if packing(path):
            file.read(begin)  # a decompressed stream can't seek
        else:
            file.seek(begin)
        if encoding == "utf-8":
            yield file.read
            return
        decoder = codecs.getincrementaldecoder(encoding)("replace")

        def read_as_utf8(size):
            data = file.read(size)
            return decoder.decode(data, final=not data).encode()

        yield read_as_utf8


def _last_break(data):
    """Returns where to cut a block: after its last line end or space, or before a character."""
    for end, stop in ((b"\n", None), (b"\r", -1), (b" ", None)):  # a final CR may precede an LF
        position = data.rfind(end, 0, stop)
        if position >= 0:
            return position + 1
    cut = len(data) - 1
    while cut > max(0, len(data) - 4) and data[cut] & 0xC0 == 0x80:  # inside a character
        cut -= 1
    return cut
