"""Documents of a text: one sentence per line (Google's format), or prose."""

import dataclasses
import itertools
import operator
import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from keras_bert.messages import check_int, check_one_of

MAX_PARAGRAPH_CHARACTERS = 2**20

_TERMINAL = frozenset(".!?…:;\"'”’)]}*_—-。！？」』।؟")

_ABBREVIATION = re.compile(r"(?:^|\s)[A-Z][a-z]{0,3}\.$")  # "Mr.", for example

Passages: TypeAlias = Iterator[tuple[Hashable, str | None, list[str]]]
"""Number in the span, language (None if split) and paragraphs of documents, or of their parts."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of `prepare_corpus` that determine the records."""

    text_format: str = "prose"
    document_separator: str | None = None
    language: str = "en"
    seed: int = 0
    text_column: str = "text"
    language_column: str | None = None
    min_tokens: int = 1
    drop_repeated: bool = False

    def __post_init__(self):
        check_one_of("text_format", self.text_format, ("prose", "sentences"))
        for name in ("document_separator", "language_column"):
            if getattr(self, name) is not None and self.text_format == "sentences":
                raise ValueError(f"text_format='sentences' takes no {name}. Omit it.")
        check_int("min_tokens", self.min_tokens, at_most=2**15)
        check_int("seed", self.seed, at_least=0, at_most=2**63 - 1)
        try:
            re.compile(self.document_separator or "")
        except (re.error, TypeError) as error:
            what = f"document_separator {self.document_separator!r}"
            raise ValueError(f"{what} is not a regular expression: {error}") from error

    @property
    def separator(self) -> re.Pattern | None:
        """The pattern of lines between documents; None if each text file is one document."""
        pattern = r"^\s*$" if self.text_format == "sentences" else self.document_separator
        return re.compile(pattern) if pattern else None


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


def by_document(items: Iterable[tuple]) -> Iterator[tuple[Any, Iterator[tuple]]]:
    """Groups consecutive items of the same document, which each begin with its number or id."""
    return itertools.groupby(items, operator.itemgetter(0))


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
