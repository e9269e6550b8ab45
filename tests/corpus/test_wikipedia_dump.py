import bz2
import re
from html import escape

import pytest

from keras_bert.corpus import decoding, wikipedia_dump
from keras_bert.corpus.sentences import split_sentences
from keras_bert.corpus.slices import Settings, Span
from keras_bert.corpus.wikipedia_dump import DumpReader, dump_namespaces
from keras_bert.reports import Reports

HEAD = """<mediawiki xml:lang="de"><siteinfo><namespaces>
<namespace key="0" case="first-letter" />
<namespace key="6" case="first-letter">Datei</namespace></namespaces></siteinfo>\n"""


def page(title, text, ns=0, more=""):
    return (
        f"<page><title>{escape(title)}</title><ns>{ns}</ns><id>1</id>{more}<revision>"
        f"<model>wikitext</model><text>{escape(text)}</text></revision></page>\n"
    )


def dump(*pages):
    return "".join([HEAD, *pages, "</mediawiki>\n"]).encode()


def articles(num_pages):
    return [page(f"P{i}", f"Größe {i} [[Datei:x.jpg|y]]is. " * (i % 40)) for i in range(num_pages)]


def read(path, start=0, stop=None):
    reader = DumpReader()
    size = path.stat().st_size
    span = Span(str(path), reader, start, size if stop is None else stop, size)
    reports = Reports()
    passages = reader.passages(span, Settings(), reports)
    found = [[s for t in texts for s in split_sentences(t, rule)] for _, rule, texts in passages]
    return found, reports.as_dict()


def test_articles_are_kept_and_other_pages_counted(write):
    pages = [
        page("A & B", "One <ref>x</ref>is. Two [[Datei:x.jpg|no]]are.\n== No ==\n* no\n"),
        page("Gone", "#REDIRECT [[A]]", more='<redirect title="A" />'),
        page("Gone too", "#redirect [[A]]"),
        page("Talk:A", "Talk is cheap.", ns=1),
        page("Code", "Not. Prose.").replace("<model>wikitext", "<model>css"),
        page("Empty", ""),
    ]
    path = write(dump(*pages), "wiki.xml")
    documents, reports = read(path)
    assert documents == [["One is.", "Two are."]]
    assert {kind: entry["count"] for kind, entry in reports.items()} == {
        wikipedia_dump.REDIRECTS: 2,
        wikipedia_dump.OTHER_NAMESPACES: 1,
        wikipedia_dump.OTHER_MODELS: 1,
    }
    assert dump_namespaces(str(path)) == {"datei"}


def test_spans_hold_each_page_once_wherever_a_file_is_cut(write, monkeypatch, refused):
    monkeypatch.setattr(wikipedia_dump, "BLOCK_BYTES", 1000)
    data = dump(*articles(300))
    path = write(data, "wiki.xml")
    whole, _ = read(path)
    assert len(whole) == sum(i % 40 > 0 for i in range(300))
    for num_parts in (2, 9, 50):
        cuts = [len(data) * part // num_parts for part in range(num_parts + 1)]
        found = [read(path, a, b)[0] for a, b in zip(cuts, cuts[1:], strict=False)]
        assert [document for part in found for document in part] == whole
    streams = [bz2.compress(data[i : i + 3001]) for i in range(0, len(data), 3001)]
    packed = write(b"".join(streams), "wiki.xml-p1p300.bz2")  # as of Wikipedia
    assert read(packed)[0] == whole and not DumpReader().can_be_cut(str(packed))
    packed.write_bytes(packed.read_bytes()[:-40])
    refused("wiki.xml-p1p300.bz2 is (truncated|damaged)", read, packed)


def test_a_tag_cut_between_two_spans_belongs_to_the_first(write):
    data = dump(*articles(4))
    path = write(data, "wiki.xml")
    whole, _ = read(path)
    for cut in range(data.index(b"<page>") - 8, data.rindex(b"<page>") + 8):
        assert read(path, 0, cut)[0] + read(path, cut)[0] == whole


def test_damaged_dumps_are_refused_with_their_name(write, refused):
    for missing in (5, 40, 3000):
        refused("wiki.xml is truncated", read, write(dump(*articles(100))[:-missing], "wiki.xml"))
    path = write(dump(page("Bad one", "x").replace("</id>", "")), "wiki.xml")
    refused("wiki.xml is damaged: page 'Bad one' is not XML", read, path)


def test_broken_utf8_and_broken_markup_are_reported_with_the_page(write):
    data = dump(page("Caf", "One is.\n\nTwo [[is."), page("B", "Three@ is."))
    documents, reports = read(write(data.replace(b"@", b"\xe9"), "wiki.xml"))
    assert documents == [["One is."], ["Three\ufffd is."]]
    assert "page 'Caf'" in reports[wikipedia_dump.BROKEN_PASSAGES]["examples"][0]
    assert "page 'B', byte " in reports[decoding.BROKEN]["examples"][0]


@pytest.mark.parametrize("name", ["a.xml", "a.xml.bz2"])
def test_other_files_are_refused(write, name, refused):
    path = str(write(b"<html>no wiki</html>", name))
    refused("not a MediaWiki dump|is damaged, or of another kind", DumpReader().can_be_cut, path)


@pytest.mark.shared
def test_a_real_dump_leaves_nothing_but_prose(shared_data):
    documents, reports = read(shared_data / "text" / "wikipedia" / "enwiki-pages-articles.xml.bz2")
    assert len(documents) > 100 and reports[wikipedia_dump.REDIRECTS]["count"] == 99
    sentences = [sentence for document in documents for sentence in document]
    assert len(sentences) > 15_000
    markup = re.compile(r"\{\{|\}\}|\[\[|\]\]|==|\|\||^\||<ref|</?[a-z]+>|''|^[*#;=!]|&nbsp;")
    assert [sentence for sentence in sentences if markup.search(sentence)] == []
    assert documents[0][0] == (
        "Anarchism is a political philosophy that advocates self-governed societies based on "
        "voluntary institutions."
    )
