"""What a worker is given: spans of input files, grouped into slices, and the reader of each."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Protocol, TypeAlias

from keras_bert.messages import check_one_of
from keras_bert.reports import Reports


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of `prepare_corpus` that determine the records."""

    text_format: str = "prose"
    document_separator: str | None = None
    language: str = "en"
    seed: int = 0

    def __post_init__(self):
        check_one_of("text_format", self.text_format, ("prose", "sentences"))
        if self.document_separator is not None and self.text_format == "sentences":
            raise ValueError("text_format='sentences' takes no document_separator. Omit it.")
        try:
            re.compile(self.document_separator or "")
        except re.error as error:
            what = f"document_separator {self.document_separator!r}"
            raise ValueError(f"{what} is not a regular expression: {error}") from error

    @property
    def separator(self) -> re.Pattern | None:
        """The pattern of lines between documents; None if each text file is one document."""
        pattern = r"^\s*$" if self.text_format == "sentences" else self.document_separator
        return re.compile(pattern) if pattern else None


Documents: TypeAlias = Iterator[tuple[int, list[str]]]
"""The number in the span and the sentences of each document, or of its parts."""


class Reader(Protocol):
    """Reader of one kind of input file; each kind is an entry of `corpus_plan.READERS`."""

    expansion: int = 1
    """Approximate bytes of text per byte of the file."""

    def matches(self, name: str) -> bool:
        """Returns whether a lowercase file name is of this kind."""

    def can_be_cut(self, path: str) -> bool:
        """Returns whether a file can be read in parts; a ValueError if it isn't of this kind."""

    def is_one_document(self, settings: Settings) -> bool:
        """Returns whether each file is a single document."""
        return False

    def documents(self, span: "Span", settings: Settings, reports: Reports) -> Documents:
        """Yields the documents of a span."""

    def texts(self, span: "Span", reports: Reports) -> Iterator[str]:
        """Yields the text of a span in pieces of about a megabyte, none ending in a word."""


@dataclasses.dataclass(frozen=True)
class Span:
    """Bytes `start` to `stop` of a file, perhaps a part of a single document with `document_id`.

    Readers move both ends to the next document boundary.
    """

    path: str
    reader: Reader
    start: int
    stop: int
    size: int
    document_id: int | None = None


@dataclasses.dataclass(frozen=True)
class Slice:
    """Unit of work: the spans that become shard number `index`."""

    index: int
    spans: tuple[Span, ...]

    @property
    def num_bytes(self) -> int:
        """Number of bytes in the input files."""
        return sum(span.stop - span.start for span in self.spans)


def first_document_id(slice_index: int) -> int:
    """Returns the id of the first document of a slice; later ids count up from it."""
    return slice_index << 32
