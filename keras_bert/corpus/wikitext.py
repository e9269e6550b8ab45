"""Extraction of prose from wikitext."""

import html
import re

# Elements that contain no prose.
_DROPPED_ELEMENTS = (
    "ref|references|math|chem|ce|gallery|timeline|score|syntaxhighlight|source|pre|imagemap|"
    "hiero|graph|mapframe|maplink|nowiki|templatedata|inputbox|table|noinclude|indicator|section|"
    "categorytree"
)
_EMPTY = re.compile(rf"<({_DROPPED_ELEMENTS}|templatestyles|br)\b[^<>]*/>", re.I)
_ELEMENT = re.compile(
    # an innermost element: no such tag opens inside it
    rf"<({_DROPPED_ELEMENTS})\b[^<>]*>[^<]*(?:<(?!/?\1\b)[^<]*)*</\1\s*>",
    re.I,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*|/)?>", re.I)

_BRACES = re.compile(r"\{{2,}|\}{2,}|^[ \t:]*\{\||^[ \t]*\|\}(?!\})", re.M)
_BRACKETS = re.compile(r"\[\[|\]\]")
_EXTERNAL_LINK = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:)?//[^\s\]]*[ \t]*([^\]\n]*)\]", re.I
)
_QUOTES = re.compile(r"'{2,}")
_SWITCH = re.compile(r"__[A-Z]+__")
_INTERWIKI = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*")
_FIXED_NAMESPACES = frozenset(["file", "image", "media", "category"])

# Gaps that removed templates leave in brackets and before punctuation.
_HOLES = (
    (re.compile(r"\(\s*(?:[,;:]\s*)+"), "("),
    (re.compile(r"(?:\s*[,;:])+\s*\)"), ")"),
    (re.compile(r"\s*\(\s*\)"), ""),
    (re.compile(r"[ \t\u00a0]{2,}"), " "),
    (re.compile(r" +([,.;:!?](?:\s|$))"), r"\1"),
)
_SENTENCE_END = re.compile(r"\w\W*[.!?…。！？।؟።။][\"'”’»)\]]*$")
_NOT_PROSE = tuple("=*#:;|!{}")
_BROKEN = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|\|\||==|<ref|</ref|<!--", re.I)


def wikitext_passages(text: str, namespaces: frozenset[str] = frozenset()) -> tuple[list[str], int]:
    r"""Extracts the paragraphs of prose from an article.

    Headings, lists and their leads, tables, templates, references, formulas, code, captioned
    pictures and categories are dropped. Links and emphasis keep their text. A template inside a
    sentence leaves a gap, because templates cannot be expanded without the wiki.

    Args:
        text: str, wikitext.
        namespaces: lowercase names of the wiki's namespaces; links into these are dropped.

    Returns:
        `(passages, num_broken)`: a list of str, one per paragraph, and the number of paragraphs
        dropped because they still contain markup, such as unclosed brackets.

    Example:
    ```python
    wikitext_passages("== Life ==\nHe '''was''' a [[poet|Poet]]{{r|a}}.\n* list")
    # (["He was a Poet."], 0)
    ```
    """
    text = _COMMENT.sub("", text)
    text = _EMPTY.sub(_space_for_break, text)
    text = _without_elements(text)
    text = _without_braces(text)
    text = _links_to_text(text, namespaces | _FIXED_NAMESPACES)
    text = _EXTERNAL_LINK.sub(r"\1", text)
    text = _SWITCH.sub("", _QUOTES.sub("", _TAG.sub(_space_for_break, text)))
    text = html.unescape(text)
    passages, num_broken = [], 0
    for passage in _paragraphs(text):
        for pattern, replacement in _HOLES:
            passage = pattern.sub(replacement, passage)
        if _BROKEN.search(passage):
            num_broken += 1
        elif _is_prose(passage := passage.strip().lstrip(",;: ")):
            passages.append(passage)
    return passages, num_broken


def _is_prose(passage):
    # Short lines without a sentence end are captions, unmarked headings or leads of lists.
    return len(passage) >= 80 or _SENTENCE_END.search(passage) is not None


def _space_for_break(match):
    return " " if match[0].lower().startswith("<br") else ""


def _without_elements(text):
    while True:
        shorter = _ELEMENT.sub("", text)
        if shorter == text:
            return text
        text = shorter


def _without_braces(text):
    """Removes nested templates and tables; unclosed openers stay."""
    if "{{" not in text and "{|" not in text:
        return text
    openers, spans = [], []  # (offset, "{{" or "{|"), and (begin, end) of all closed pairs
    for match in _BRACES.finditer(text):
        mark, begin = match[0], match.start()
        if mark[0] == "{" and mark[-1] == "{":
            openers += [(begin if i == 0 else begin + 2 * i, "{{") for i in range(len(mark) // 2)]
        elif mark.endswith("{|"):
            openers.append((begin, "{|"))
        elif mark.endswith("|}"):
            _close(openers, "{|", match.end(), spans)
        else:
            for i in range(len(mark) // 2):
                last = i == len(mark) // 2 - 1
                _close(openers, "{{", match.end() if last else begin + 2 * i + 2, spans)
    kept, position = [], 0
    for begin, end in sorted(spans):
        if begin >= position:
            kept.append(text[position:begin])
        position = max(position, end)
    kept.append(text[position:])
    return "".join(kept)


def _close(openers, kind, end, spans):
    for index in range(len(openers) - 1, -1, -1):
        if openers[index][1] == kind:
            spans.append((openers[index][0], end))
            del openers[index:]
            return


def _links_to_text(text, namespaces):
    """Replaces `[[target|label]]` with its label and drops links into other namespaces."""
    out = [[]]  # text of the open links, outermost first
    position = 0
    for match in _BRACKETS.finditer(text):
        out[-1].append(text[position : match.start()])
        position = match.end()
        if match[0] == "[[":
            out.append([])
        elif len(out) > 1:
            out[-2].append(_label("".join(out.pop()), namespaces))
        else:
            out[-1].append("]]")
    out[-1].append(text[position:])
    return "[[".join("".join(pieces) for pieces in out)


def _label(link, namespaces):
    target, bar, label = link.partition("|")
    prefix, colon, _ = target.partition(":")
    prefix = prefix.strip().lower()
    if colon and prefix and (prefix in namespaces or _INTERWIKI.fullmatch(prefix)):
        return ""
    if bar:
        return label.rpartition("|")[2]
    return target.lstrip(":")


def _paragraphs(text):
    paragraph = []
    for line in text.split("\n"):
        line = line.strip()
        if line and not line.startswith(_NOT_PROSE) and not line.startswith("----"):
            paragraph.append(line)
            continue
        if paragraph:
            yield " ".join(paragraph)
        paragraph = []
    if paragraph:
        yield " ".join(paragraph)
