"""Spans of `.txt` files to documents: a sentence a line (Google's format), or plain prose."""

import re

import numpy as np
import tensorflow as tf

from keras_bert.corpus.decoding import BLOCK_BYTES, detect_encoding, text_blocks
from keras_bert.corpus.sentences import split_sentences

TEXT_FORMATS = ("prose", "sentences")
BLANK_LINE = r"^\s*$"
MAX_PARAGRAPH_CHARACTERS = 2**20

_TERMINAL = frozenset(".!?…:;\"'”’)]}*_—-。！？」』।؟")

_ABBREVIATION = re.compile(r"(?:^|\s)[A-Z][a-z]{0,3}\.$")  # "Mr.", for example


def document_separator_of(settings):
    """Compiled pattern of the lines between documents; None where a file is a document."""
    if settings.text_format == "sentences":
        return re.compile(BLANK_LINE)
    return re.compile(settings.document_separator) if settings.document_separator else None


def text_documents(span, settings, reports):
    """Yields `(document, sentences)`: a running number of the document, and a list of str.

    Long documents come in several parts, one after another, with the same number.
    """
    separator = document_separator_of(settings)
    begin, end = _own_bytes(span, separator)
    lines = _line_batches(text_blocks(span.path, begin, end, reports))
    if settings.text_format == "sentences":
        yield from _sentence_lines(lines, separator)
        return
    for document, paragraph in _paragraphs(lines, separator):
        yield document, split_sentences(paragraph, settings.language)


def _line_batches(blocks):
    """Lists of whole lines, one list a block; a line of several blocks is cut between them."""
    carry = ""
    for block in blocks:
        lines = (carry + block).split("\n")
        carry = lines.pop()
        if len(carry) > MAX_PARAGRAPH_CHARACTERS // 2:
            lines.append(carry)
            carry = ""
        if lines:
            yield lines
    if carry:
        yield [carry]


def _sentence_lines(batches, separator):
    document = 0
    for lines in batches:
        sentences = []
        for line in lines:
            if separator.search(line):
                if sentences:
                    yield document, sentences
                    sentences = []
                document += 1
            else:
                sentences.append(line)
        if sentences:
            yield document, sentences


def _paragraphs(batches, separator):
    document, paragraph, num_characters, width = 0, [], 0, None
    for lines in batches:
        if width is None:
            width = wrap_width(lines)
        for line in lines:
            if separator and separator.search(line):
                if paragraph:
                    yield document, " ".join(paragraph)
                document, paragraph, num_characters = document + 1, [], 0
                continue
            line = line.strip()
            if paragraph and (
                not line
                or _ends_paragraph(paragraph[-1], line, width)
                or num_characters > MAX_PARAGRAPH_CHARACTERS
            ):
                yield document, " ".join(paragraph)
                paragraph, num_characters = [], 0
            if line:
                paragraph.append(line)
                num_characters += len(line)
    if paragraph:
        yield document, " ".join(paragraph)


def wrap_width(lines):
    """Width at which the lines of a text were wrapped; 0 where a line is a paragraph.

    Wrapped lines end in the middle of sentences, paragraphs do not: text counts as wrapped when
    less than half of the lines with a line below them end in closing punctuation.
    """
    lines = [line.strip() for line in lines]
    inner = [line for line, below in zip(lines, lines[1:], strict=False) if line and below]
    closed = sum(line[-1] in _TERMINAL for line in inner)
    if not inner or 2 * closed >= len(inner):
        return 0
    width = int(np.percentile([len(line) for line in inner], 95))
    return width if width <= 200 else 0


def _ends_paragraph(line, below, width):
    # Where the first word below would have fitted, the line was ended on purpose.
    if not width:
        return True
    first_word = below.find(" ")
    first_word = len(below) if first_word < 0 else first_word
    if line[-1] not in _TERMINAL or len(line) + 1 + first_word > width:
        return False
    return not _ABBREVIATION.search(line)


def _own_bytes(span, separator):
    """The part of the file between the first boundaries at or after the span's two ends."""
    if span.start == 0 and span.stop >= span.size:
        return 0, span.size
    begin = _boundary(span.path, span.start, span.stop, separator)
    if begin is None:  # one document reaches over the whole span: it belongs to an earlier one
        return span.size, span.size
    end = _boundary(span.path, span.stop, span.size, separator)
    return begin, span.size if end is None else end


def _boundary(path, offset, limit, separator):
    """First offset in [offset, limit) where a document may begin; None without one."""
    if offset == 0:
        return 0
    if separator is None:
        return _paragraph_boundary(path, offset)
    with tf.io.gfile.GFile(path, "rb") as file:
        file.seek(offset - 1)
        position, data = offset - 1, b""
        first = True  # the line that holds offset - 1 began earlier
        while position < limit:
            more = file.read(BLOCK_BYTES)
            data += more
            lines = re.split(rb"(?<=\n)|(?<=\r)(?!\n)", data)
            data = lines.pop() if more else b""
            for line in lines:
                if not first and separator.search(line.decode("utf-8", "replace").rstrip("\r\n")):
                    return position
                first = False
                position += len(line)
                if position >= limit:
                    return None
            if not more:
                return None
    return None


def _paragraph_boundary(path, offset):
    # A file that is one document may be cut anywhere; best between paragraphs, else lines, words.
    with tf.io.gfile.GFile(path, "rb") as file:
        file.seek(offset)
        data = file.read(BLOCK_BYTES)
    for pattern in (rb"\r?\n\r?\n|\r\r(?!\n)", rb"\r\n|\n|\r(?!\n)", rb" "):
        if match := re.search(pattern, data[: BLOCK_BYTES // 16]):
            return offset + match.end()
    position = 0
    while position < min(4, len(data)) and data[position] & 0xC0 == 0x80:
        position += 1
    return offset + position


def can_be_cut(path):
    """Whether a text file may be read in parts: UTF-8 only, whose line ends are single bytes."""
    return detect_encoding(path)[0] == "utf-8"
