"""What a worker is given: spans of input files, grouped into slices, and the reader of each."""

import dataclasses
import os
import re
from collections.abc import Hashable, Iterator, Set
from typing import Protocol, TypeAlias

from keras_bert.corpus.decoding import detect_encoding
from keras_bert.files.remote import packing
from keras_bert.messages import check_int, check_one_of
from keras_bert.reports import Reports

_EXPANSIONS = {".gz": 3, ".bz2": 4, ".zst": 3, ".parquet": 2}  # bytes of text per byte, about


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
        check_int("seed", self.seed, at_least=-(2**63), at_most=2**63 - 1)
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


Passages: TypeAlias = Iterator[tuple[Hashable, str | None, list[str]]]
"""Number in the span, language (None if split) and paragraphs of documents, or of their parts."""


class Reader(Protocol):
    """Reader of one kind of input file; each kind is an entry of `corpus_plan.READERS`."""

    names: str
    """Regular expression that is found in the lowercase names of files of this kind."""

    def can_be_cut(self, path: str) -> bool:
        """Returns whether a file can be read in parts; a ValueError if it isn't of this kind."""
        # Only in UTF-8 are line ends single bytes.
        return not packing(path) and detect_encoding(path)[0] == "utf-8"

    is_one_document = False
    """Whether each file is a single document, if it has no separators."""

    def passages(
        self,
        span: "Span",
        settings: Settings,
        reports: Reports,
    ) -> Passages:
        """Yields the text of a span."""


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

    @property
    def text_bytes(self) -> int:
        """Approximate number of bytes of text."""
        expansion = _EXPANSIONS.get(os.path.splitext(self.path)[1].lower(), 1)
        return (self.stop - self.start) * expansion


@dataclasses.dataclass(frozen=True)
class Slice:
    """Unit of work: the spans that become shard number `index`, without `repeated` documents."""

    index: int
    spans: tuple[Span, ...]
    repeated: Set[int] = frozenset()

    @property
    def num_bytes(self) -> int:
        """Number of bytes in the input files."""
        return sum(span.stop - span.start for span in self.spans)


def first_document_id(slice_index: int) -> int:
    """Returns the id of the first document of a slice; later ids count up from it."""
    return slice_index << 32
