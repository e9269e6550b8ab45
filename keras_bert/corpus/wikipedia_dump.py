"""Documents of MediaWiki dumps (`pages-articles` XML, plain or bzip2), one per article."""

import dataclasses
import functools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from keras_bert.corpus.bz2_blocks import bz2_chunks
from keras_bert.corpus.decoding import BLOCK_BYTES, decode_utf8
from keras_bert.corpus.sentences import split_sentences
from keras_bert.corpus.slices import Reader, Settings, Span
from keras_bert.corpus.wikitext import wikitext_passages
from keras_bert.files.remote import open_bytes
from keras_bert.reports import Reports

REDIRECTS = "redirect pages, skipped"
OTHER_NAMESPACES = "pages of other namespaces, skipped"
OTHER_MODELS = "pages that are not wikitext, skipped"
BROKEN_PASSAGES = "passages with broken markup, dropped"

_PAGE, _PAGE_END = b"<page>", b"</page>"
_MAX_PAGE_BYTES = 2**27
_HEAD_BYTES = 2**16


@dataclasses.dataclass(frozen=True)
class DumpReader(Reader):
    """`Reader` of dumps, compressed with bzip2 if `packed`; each article is a document."""

    packed: bool = False

    @property
    def expansion(self) -> int:
        """Approximate bytes of text per byte of a file."""
        return 4 if self.packed else 1

    def matches(self, name: str) -> bool:
        """Returns whether a lowercase file name is of this kind."""
        return name.endswith(".bz2") and ".xml" in name if self.packed else name.endswith(".xml")

    def check(self, path: str) -> None:
        """Raises a ValueError unless the file starts like a MediaWiki export."""
        if b"<mediawiki" not in _head(path, self.packed):
            raise ValueError(
                f"{path} is not a MediaWiki dump: it does not start with <mediawiki>. Give other "
                "text as .txt."
            )

    def documents(
        self, span: Span, settings: Settings, reports: Reports
    ) -> Iterator[tuple[int, list[str]]]:
        """Yields `(document, sentences)` for each article that has text."""
        for document, passages in self._articles(span, reports):
            sentences = [s for text in passages for s in split_sentences(text, settings.language)]
            if sentences:
                yield document, sentences

    def texts(self, span: Span, reports: Reports) -> Iterator[str]:
        """Yields the prose of a span's articles in pieces of about a megabyte."""
        passages, num_characters = [], 0
        for _, article in self._articles(span, reports):
            passages += article
            num_characters += sum(map(len, article))
            if num_characters > BLOCK_BYTES:
                yield "\n".join(passages)
                passages, num_characters = [], 0
        if passages:
            yield "\n".join(passages)

    def _articles(self, span, reports):
        """Yields `(document, passages)`; counts other pages, such as redirects, in the reports."""
        namespaces = dump_namespaces(span.path, self.packed)
        for document, page in enumerate(dump_pages(span.path, _chunks(span, self.packed))):
            passages, num_broken = wikitext_passages(
                _article_text(page, span.path, reports), namespaces
            )
            if num_broken:
                reports.add(BROKEN_PASSAGES, num_broken, f"{span.path}, {_title(page)}")
            if passages:
                yield document, passages


@functools.lru_cache(maxsize=8)
def dump_namespaces(path: str, packed: bool) -> frozenset[str]:
    """Reads the lowercase names of all namespaces except the main one, in the dump's language."""
    head = _head(path, packed).decode("utf-8", "replace")
    names = re.findall(r'<namespace key="[^"]*"[^>]*>([^<]+)</namespace>', head)
    return frozenset(name.lower() for name in names)


def dump_pages(path: str, chunks: Iterator[tuple[bytes, bool]]) -> Iterator[bytes]:
    """Yields the bytes of each `<page>` that begins in a span.

    `chunks` are `(bytes, whether they begin in the span)`, to the end of the file.

    Raises:
        ValueError: if the file is truncated or damaged.
    """
    data, own_bytes, own = b"", 0, True
    position, num_chunks = 0, 0
    while True:
        begin = data.find(_PAGE, position)
        end = data.find(_PAGE_END, begin) if begin >= 0 else -1
        if begin >= 0 and not own and begin >= own_bytes:
            return
        if end >= 0:
            position = end + len(_PAGE_END)
            yield data[begin:position]
            continue
        # A tag that starts here and ends in the next chunk belongs to this span.
        if begin < 0 and not own and own_bytes + len(_PAGE) <= len(data):
            return
        keep = begin if begin >= 0 else max(position, len(data) - len(_PAGE) - len("</mediawiki>"))
        if begin >= 0 and len(data) - begin > _MAX_PAGE_BYTES:
            raise ValueError(f"{path} is damaged: a page never ends. Download the file again.")
        rest = data[keep:]
        own_bytes, position = own_bytes - keep, 0
        chunk, still_own = next(chunks, (b"", False))
        if not chunk:
            if num_chunks == 0:  # no block of a compressed file begins in this span
                return
            if begin >= 0 or b"</mediawiki>" not in rest:
                raise ValueError(
                    f"{path} is truncated: it does not end with </mediawiki>. Download the "
                    "file again."
                )
            return
        num_chunks += 1
        data = rest + chunk
        if still_own:
            own_bytes = len(data)
        own = still_own


def _chunks(span, packed):
    if packed:
        yield from bz2_chunks(span.path, span.start, span.stop)
        return
    with open_bytes(span.path) as file:
        file.seek(span.start)
        position = span.start
        while True:
            own = position < span.stop
            data = file.read(min(BLOCK_BYTES, span.stop - position) if own else BLOCK_BYTES)
            if not data:
                return
            position += len(data)
            yield data, own


def _head(path, packed):
    if packed:
        with open_bytes(path) as file:
            if file.read(3) != b"BZh":
                raise ValueError(f"{path} is not a bzip2 file. Download it again, or rename it.")
        for chunk, _ in bz2_chunks(path, 0, 1):
            return chunk[:_HEAD_BYTES]
        return b""
    with open_bytes(path) as file:
        return file.read(_HEAD_BYTES)


def _article_text(page, path, reports):
    """Returns the wikitext of a page's last revision, or "" if the page is not an article."""

    def place(offset):
        line = page.count(b"\n", 0, offset) + 1
        return f"{path}, {_title(page)}, line {line:,} of the page"

    text = decode_utf8(page, reports, place)
    try:
        element = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{path} is damaged: {_title(page)} is not XML ({error}, counted from its <page>). "
            "Download the file again."
        ) from error
    if element.findtext("ns", "0") != "0":
        reports.add(OTHER_NAMESPACES, 1)
        return ""
    revisions = element.findall("revision")
    wikitext = (revisions[-1].findtext("text") or "") if revisions else ""
    if element.find("redirect") is not None or wikitext[:9].upper() == "#REDIRECT":
        reports.add(REDIRECTS, 1)
        return ""
    if revisions and revisions[-1].findtext("model", "wikitext") != "wikitext":
        reports.add(OTHER_MODELS, 1)
        return ""
    return wikitext


def _title(page):
    match = re.search(rb"<title>([^<]*)</title>", page[:4096])
    return f"page {match[1].decode('utf-8', 'replace')!r}" if match else "a page without title"
