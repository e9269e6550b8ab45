"""Documents of text files: one sentence per line (Google's format), or prose."""

import itertools
import re
from collections.abc import Iterable, Iterator

import numpy as np

from keras_bert.corpus.decoding import BLOCK_BYTES, text_blocks
from keras_bert.corpus.slices import Passages, Reader, Settings, Span
from keras_bert.files.remote import open_bytes
from keras_bert.reports import Reports

MAX_PARAGRAPH_CHARACTERS = 2**20

_TERMINAL = frozenset(".!?…:;\"'”’)]}*_—-。！？」』।؟")

_ABBREVIATION = re.compile(r"(?:^|\s)[A-Z][a-z]{0,3}\.$")  # "Mr.", for example


class TextReader(Reader):
    """`Reader` of `.txt` files."""

    names = r"(?<!^vocab)\.txt(\.gz|\.bz2|\.zst)?$"  # a vocabulary is no text

    is_one_document = True

    def passages(
        self,
        span: Span,
        settings: Settings,
        reports: Reports,
    ) -> Passages:
        begin, end = own_bytes(span, settings.separator)
        width = None
        if (begin, end) != (0, span.size):  # all spans of a file are read as its beginning is
            beginning = text_blocks(span.path, 0, span.size, Reports())
            width = wrap_width(next(line_batches(beginning), []))
        blocks = text_blocks(span.path, begin, end, reports)
        yield from text_passages(blocks, settings, settings.language, width)


def text_passages(
    blocks: Iterable[str],
    settings: Settings,
    language: str,
    width: int | None = None,
) -> Passages:
    """Yields the passages of a text, wrapped at `width`; by default, the first block tells it."""
    lines = line_batches(blocks)
    if settings.text_format == "sentences":
        yield from _sentence_lines(lines, settings.separator)
        return
    for document, paragraph in _paragraphs(lines, settings.separator, width):
        yield document, language, [paragraph]


def line_batches(blocks: Iterable[str], limit: float = 2**19) -> Iterator[list[str]]:
    """Yields the whole lines of each block; a line of more than `limit` characters is split."""
    unfinished = []  # the parts of a line, which are joined once
    for block in blocks:
        whole, line_end, rest = block.rpartition("\n")
        lines = []
        if line_end:
            lines = "".join([*unfinished, whole]).split("\n")
            unfinished = []
        unfinished.append(rest)
        if sum(map(len, unfinished)) > limit:
            lines.append("".join(unfinished))
            unfinished = []
        if lines:
            yield lines
    if any(unfinished):
        yield ["".join(unfinished)]


def _sentence_lines(batches, separator):
    document = 0
    for lines in batches:
        for is_separator, group in itertools.groupby(lines, separator.search):
            if is_separator:
                document += 1
            else:
                yield document, None, list(group)


def _paragraphs(batches, separator, width):
    document = 0
    paragraph = []
    num_characters = 0
    for lines in batches:
        if width is None:
            width = wrap_width(lines)
        for line in lines:
            is_separator = separator and separator.search(line)
            line = line.strip()
            if paragraph and (
                is_separator
                or not line
                or num_characters > MAX_PARAGRAPH_CHARACTERS
                or _ends_paragraph(paragraph[-1], line, width)
            ):
                yield document, " ".join(paragraph)
                paragraph = []
                num_characters = 0
            if is_separator:
                document += 1
            elif line:
                paragraph.append(line)
                num_characters += len(line)
    if paragraph:
        yield document, " ".join(paragraph)


def wrap_width(lines: list[str]) -> int:
    """Guesses the width at which a text was wrapped; 0 if each line is a paragraph.

    It was wrapped if fewer than half of the lines before another line end in closing punctuation.
    """
    lines = [line.strip() for line in lines]
    inner = [line for line, below in itertools.pairwise(lines) if line and below]
    closed = sum(line[-1] in _TERMINAL for line in inner)
    if not inner or 2 * closed >= len(inner):
        return 0
    width = int(np.percentile([len(line) for line in inner], 95))
    return width if width <= 200 else 0


def _ends_paragraph(line, below, width):
    # If the first word below would have fit, the line break is intentional.
    if not width:
        return True
    first_word = below.partition(" ")[0]
    if line[-1] not in _TERMINAL or len(line) + 1 + len(first_word) > width:
        return False
    return not _ABBREVIATION.search(line)


def own_bytes(span: Span, separator: re.Pattern | None) -> tuple[int, int]:
    """Moves both ends of a span to the first document boundaries at or after them."""
    if span.start == 0 and span.stop >= span.size:
        return 0, span.size
    begin = _boundary(span.path, span.start, span.stop, separator)
    if begin is None:  # one document covers the whole span and belongs to an earlier one
        return span.size, span.size
    end = _boundary(span.path, span.stop, span.size, separator)
    return begin, span.size if end is None else end


def _boundary(path, offset, limit, separator):
    """Finds the first offset in [offset, limit) where a document may begin, or None."""
    if offset == 0:
        return 0
    if separator is None:
        return _paragraph_boundary(path, offset)
    with open_bytes(path) as file:
        file.seek(offset - 1)
        position = offset - 1
        is_begun = True  # the line containing offset - 1 began earlier
        while position < limit and (lines := file.readline(BLOCK_BYTES)):
            for line in re.split(rb"(?<=\r)(?!\n)", lines):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if position < limit and not is_begun and separator.search(text):
                    return position
                position += len(line)
                is_begun = not line.endswith((b"\r", b"\n"))
    return None


def _paragraph_boundary(path, offset):
    # A one-document file may be cut anywhere: preferably between paragraphs, then lines or words.
    with open_bytes(path) as file:
        file.seek(offset)
        data = file.read(BLOCK_BYTES)
    for pattern in (rb"\r?\n\r?\n|\r\r(?!\n)", rb"\r\n|\n|\r(?!\n)", rb" "):
        if match := re.search(pattern, data[: BLOCK_BYTES // 16]):
            return offset + match.end()
    position = 0
    while position < min(4, len(data)) and data[position] & 0xC0 == 0x80:
        position += 1
    return offset + position
