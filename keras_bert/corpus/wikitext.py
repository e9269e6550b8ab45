"""Extraction of prose from wikitext."""

import html
import itertools
import re

# Elements that contain no prose.
_DROPPED_ELEMENTS = (
    "ref|references|math|chem|ce|gallery|timeline|score|syntaxhighlight|source|pre|imagemap|"
    "hiero|graph|mapframe|maplink|nowiki|templatedata|inputbox|table|noinclude|indicator|section|"
    "categorytree"
)
_EMPTY = re.compile(rf"<({_DROPPED_ELEMENTS}|templatestyles|br)\b[^<>]*/>", re.I)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*|/)?>", re.I)

# What nests is replaced from the inside: each pattern finds what holds no other of its kind. `*+`
# and `++` keep one from trying other lengths. A lookbehind lets one begin only at the start of a
# run, of braces or of spaces, else a long run is read again from each of its characters.
_MAX_DEPTH = 50
_ELEMENT = re.compile(rf"<({_DROPPED_ELEMENTS})\b[^<>]*+>(?:[^<]++|<(?!/?\1\b))*+</\1\s*+>", re.I)
_TEMPLATE = re.compile(r"(?<!\{)(\{{2,}+)(?:[^{}]++|\{(?!\{)|\}(?!\}))*+(\}{2,}+)")
_TABLE = re.compile(
    r"^[ \t:]*+\{\|.*+\n(?:(?![ \t:]*+\{\||[ \t]*+\|\}(?!\})).*+\n)*+[ \t]*+\|\}(?!\})", re.M
)
_LINK = re.compile(r"\[\[(?!\[)((?:[^\[\]]++|\[(?!\[)|\](?!\]))*+)\]\]")
# Without a closing bracket, the match takes the rest of the line, where no other link can end.
_EXTERNAL_LINK = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:)?//[^\s\]]*+[ \t]*+([^\]\n]*+)(\]?)", re.I
)
_QUOTES = re.compile(r"'{2,}")
_LONG_REFERENCE = re.compile(r"&#[0-9]{4000,};?")  # at which `html.unescape` fails
_SWITCH = re.compile(r"__[A-Z]+__")
_INTERWIKI = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*")
_FIXED_NAMESPACES = frozenset(["file", "image", "media", "category"])

# Gaps that removed templates leave in brackets and before punctuation.
_HOLES = (
    (re.compile(r"\(\s*(?:[,;:]\s*)+"), "("),
    (re.compile(r"(\([^()\n]*?)(?<![\s,;:])\s*+[,;:][\s,;:]*+\)"), r"\1)"),
    (re.compile(r"(?<!\s)\s*+\(\s*+\)"), ""),
    (re.compile(r"[ \t\u00a0]{2,}"), " "),
    (re.compile(r" +([,.;:!?](?:\s|$))"), r"\1"),
)
_SENTENCE_END = re.compile(r"\w\W*[.!?…。！？।؟።။][\"'”’»)\]]*$")
_NOT_PROSE = (*"=*#:;|!{}", "----")
_BROKEN = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|\|\||==|<ref|</ref|<!--", re.I)


def wikitext_passages(text: str, namespaces: frozenset[str] = frozenset()) -> tuple[list[str], int]:
    r"""Extracts the paragraphs of prose from an article, and counts those with broken markup.

    Headings, lists and their leads, tables, templates, references, formulas, code, captioned
    pictures, categories and links into `namespaces`, the wiki's in lowercase, are dropped. Other
    links and emphasis keep their text. A template inside a sentence leaves a gap, because it cannot
    be expanded without the wiki. Paragraphs that still contain markup, such as unclosed brackets,
    are dropped.

    Example:
    ```python
    wikitext_passages("== Life ==\nHe '''was''' a [[poet|Poet]]{{r|a}}.\n* list")
    # (["He was a Poet."], 0)
    ```
    """
    text = _COMMENT.sub("", text)
    text = _EMPTY.sub(_space_for_break, text)
    text = _from_inside(_ELEMENT, "", text)
    text = _from_inside(_TEMPLATE, _unpaired_braces, text)
    text = _from_inside(_TABLE, "", text)
    text = _from_inside(_LINK, lambda link: _label(link[1], namespaces), text)
    text = _EXTERNAL_LINK.sub(lambda match: match[1] if match[2] else match[0], text)
    text = _TAG.sub(_space_for_break, text)
    text = _QUOTES.sub("", text)
    text = _SWITCH.sub("", text)
    text = _LONG_REFERENCE.sub("\ufffd", text)
    text = html.unescape(text)
    passages, num_broken = [], 0
    for passage in _paragraphs(text):
        for pattern, replacement in _HOLES:
            passage = pattern.sub(replacement, passage)
        if _BROKEN.search(passage):
            num_broken += 1
            continue
        passage = passage.strip().lstrip(",;: ")
        # Short lines without a sentence end are captions, unmarked headings or leads of lists.
        if len(passage) >= 80 or _SENTENCE_END.search(passage):
            passages.append(passage)
    return passages, num_broken


def _space_for_break(match):
    return " " if match[0].lower().startswith("<br") else ""


def _from_inside(pattern, replacement, text):
    """Replaces what a pattern finds, then what enclosed it, and so on."""
    for _ in range(_MAX_DEPTH):
        text, count = pattern.subn(replacement, text)
        if not count:
            break
    return text


def _unpaired_braces(match):
    """Returns what a template leaves of the runs of braces around it, which others share."""
    surplus = len(match[1]) // 2 - len(match[2]) // 2
    return "{{" * surplus or "}}" * -surplus


def _label(link, namespaces):
    target, bar, label = link.partition("|")
    prefix, colon, _ = target.partition(":")
    prefix = prefix.strip()
    dropped = namespaces | _FIXED_NAMESPACES
    # Those of languages are in lowercase; "CSI: Miami" and "Ben-Hur: A Tale" are titles.
    if colon and (prefix.lower() in dropped or _INTERWIKI.fullmatch(prefix)):
        return ""
    return label.rpartition("|")[2] if bar else target.lstrip(":")


def _paragraphs(text):
    lines = map(str.strip, text.split("\n"))
    for is_prose, group in itertools.groupby(lines, lambda x: x and not x.startswith(_NOT_PROSE)):
        if is_prose:
            yield " ".join(group)
