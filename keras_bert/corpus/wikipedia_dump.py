"""Documents of MediaWiki dumps (`pages-articles` XML), one per article."""

import functools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from keras_bert.corpus.decoding import BLOCK_BYTES, decode_and_report
from keras_bert.corpus.slices import Passages, Reader, Settings, Span
from keras_bert.corpus.wikitext import wikitext_passages
from keras_bert.files.remote import open_bytes, open_unpacked, packing
from keras_bert.reports import Reports

REDIRECTS = "redirect pages, skipped"
OTHER_NAMESPACES = "pages of other namespaces, skipped"
OTHER_MODELS = "pages that are not wikitext, skipped"
BROKEN_PASSAGES = "passages with broken markup, dropped"

_PAGE, _PAGE_END, _DUMP_END = b"<page>", b"</page>", b"</mediawiki>"
_MAX_PAGE_BYTES = 2**27
_HEAD_BYTES = 2**16


class DumpReader(Reader):
    """`Reader` of dumps; each article is a document."""

    names = r"\.xml(-\w+)?(\.gz|\.bz2|\.zst)?$"  # also of parts: ".xml-p1p41242.bz2"

    def can_be_cut(self, path: str) -> bool:
        if b"<mediawiki" not in _head(path):
            raise ValueError(
                f"{path} is not a MediaWiki dump: no <mediawiki>. Give other text as .txt."
            )
        return not packing(path)

    def passages(
        self,
        span: Span,
        settings: Settings,
        reports: Reports,
    ) -> Passages:
        namespaces = dump_namespaces(span.path)
        for document, page in enumerate(dump_pages(span.path, _chunks(span))):
            text = _article_text(page, span.path, reports)
            passages, num_broken = wikitext_passages(text, namespaces)
            if num_broken:
                reports.add(BROKEN_PASSAGES, num_broken, f"{span.path}, {_title(page)}")
            if passages:
                yield document, settings.language, passages


@functools.lru_cache(maxsize=8)
def dump_namespaces(path: str) -> frozenset[str]:
    """Reads the lowercase names of all namespaces except the main one, in the dump's language."""
    head = _head(path).decode("utf-8", "replace")
    names = re.findall(r'<namespace key="[^"]*"[^>]*>([^<]+)</namespace>', head)
    return frozenset(name.lower() for name in names)


def dump_pages(path: str, chunks: Iterator[tuple[bytes, bool]]) -> Iterator[bytes]:
    """Yields each `<page>` that begins in a span of chunks `(bytes, if they begin in the span)`."""
    data, start, limit = b"", 0, None  # bytes read, their offset in the span, the span's length
    for chunk, is_own in chunks:
        if limit is None and not is_own:
            limit = start + len(data)
        data += chunk
        position = 0
        while (begin := data.find(_PAGE, position)) >= 0:
            if limit is not None and start + begin >= limit:
                return
            end = data.find(_PAGE_END, begin)
            if end < 0:
                break
            position = end + len(_PAGE_END)
            yield data[begin:position]
        if begin >= 0 and len(data) - begin > _MAX_PAGE_BYTES:
            raise ValueError(f"{path} is damaged: a page never ends. Download the file again.")
        # A tag that starts here and ends in the next chunk belongs to this span.
        if begin < 0 and limit is not None and start + len(data) >= limit + len(_PAGE):
            return
        if begin < 0:
            begin = max(position, len(data) - len(_PAGE) - len(_DUMP_END))
        start, data = start + begin, data[begin:]
    if start + len(data) and (data.startswith(_PAGE) or _DUMP_END not in data):
        raise ValueError(
            f"{path} is truncated: it does not end with </mediawiki>. Download the file again."
        )


def _chunks(span):
    if packing(span.path):  # which is read whole
        with open_unpacked(span.path) as file:
            while data := file.read(BLOCK_BYTES):
                yield data, True
        return
    with open_bytes(span.path) as file:
        file.seek(span.start)
        left = span.stop - span.start
        while data := file.read(min(BLOCK_BYTES, left) if left > 0 else BLOCK_BYTES):
            yield data, left > 0
            left -= len(data)


def _head(path):
    with open_unpacked(path) as file:
        return file.read(_HEAD_BYTES)


def _article_text(page, path, reports):
    """Returns the wikitext of a page's last revision, or "" if the page is not an article."""
    text = decode_and_report(page, reports, f"{path}, {_title(page)}")
    try:
        element = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{path} is damaged: {_title(page)} is not XML ({error}, counted from its <page>). "
            "Download the file again."
        ) from error
    revision = element.find("revision[last()]")
    wikitext = "" if revision is None else revision.findtext("text") or ""
    if element.findtext("ns", "0") != "0":
        reports.add(OTHER_NAMESPACES, 1)
    elif element.find("redirect") is not None or wikitext[:9].upper() == "#REDIRECT":
        reports.add(REDIRECTS, 1)
    elif revision is not None and revision.findtext("model", "wikitext") != "wikitext":
        reports.add(OTHER_MODELS, 1)
    else:
        return wikitext
    return ""


def _title(page):
    match = re.search(rb"<title>([^<]*)</title>", page[:4096])
    return f"page {match[1].decode('utf-8', 'replace')!r}" if match else "a page without title"
