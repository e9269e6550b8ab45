"""Extraction of prose from wikitext."""

import collections
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
_ELEMENT_TAG = re.compile(rf"<(/?)({_DROPPED_ELEMENTS})\b([^<>]*)(>?)", re.I)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*|/)?>", re.I)

_BRACES = re.compile(r"\{{2,}|\}{2,}|^[ \t:]*\{\||^[ \t]*\|\}(?!\})", re.M)
_BRACKETS = re.compile(r"\[\[|\]\]")
# Without a closing bracket, the match takes the rest of the line, where no other link can end.
_EXTERNAL_LINK = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:)?//[^\s\]]*+[ \t]*+([^\]\n]*+)(\]?)", re.I
)
_QUOTES = re.compile(r"'{2,}")
_LONG_REFERENCE = re.compile(r"&#[0-9]{4000,};?")  # at which `html.unescape` fails
_SWITCH = re.compile(r"__[A-Z]+__")
_INTERWIKI = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*")
_FIXED_NAMESPACES = frozenset(["file", "image", "media", "category"])

_MAX_OPEN_LINKS = 50  # links nest two deep: a picture's caption holds others

# Gaps that removed templates leave in brackets and before punctuation. A lookbehind lets a pattern
# begin at the start of a run of spaces only, else a long run is read again from each of its spaces.
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
    text = _EMPTY.sub(_space_for_break, _COMMENT.sub("", text))
    text = _without_braces(_without_elements(text))
    text = _links_to_text(text, namespaces | _FIXED_NAMESPACES)
    text = _EXTERNAL_LINK.sub(lambda match: match[1] if match[2] else match[0], text)
    text = _SWITCH.sub("", _QUOTES.sub("", _TAG.sub(_space_for_break, text)))
    text = html.unescape(_LONG_REFERENCE.sub("\ufffd", text))
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


class _Pairs:
    """Pairs of openers and closers of several kinds; a pair discards what is open inside it.

    Each opener is stored once and removed once, so the time is linear however deep they nest.
    """

    def __init__(self):
        self._openers = []  # (kind, begin)
        self._places = collections.defaultdict(list)  # kind -> its indexes in `_openers`
        self._spans = []  # (begin, end) of all pairs

    def open(self, kind, begin):
        """Adds an opener; one whose `begin` is None hides those before it from closers."""
        self._places[kind].append(len(self._openers))
        self._openers.append((kind, begin))

    def close(self, kind, end):
        """Pairs a closer with the last opener of its kind, if there is one."""
        if not self._places[kind]:
            return
        first = self._places[kind][-1]
        begin = self._openers[first][1]
        if begin is None:
            return
        for inner, _ in self._openers[first:]:
            self._places[inner].pop()
        del self._openers[first:]
        self._spans.append((begin, end))

    def without(self, text):
        """Removes the pairs from a text, with everything inside them."""
        kept, position = [], 0
        for begin, end in sorted(self._spans):
            if begin >= position:
                kept.append(text[position:begin])
            position = max(position, end)
        kept.append(text[position:])
        return "".join(kept)


def _without_elements(text):
    """Removes elements that contain no prose; unclosed tags stay."""
    pairs = _Pairs()
    for match in _ELEMENT_TAG.finditer(text):
        slash, name, rest, end = match.groups()
        name = name.lower()
        if not end or (slash and rest.strip()):
            pairs.open(name, None)  # a broken tag: no element of this name reaches across it
        elif slash:
            pairs.close(name, match.end())
        else:
            pairs.open(name, match.start())
    return pairs.without(text)


def _without_braces(text):
    """Removes nested templates and tables; unclosed openers stay."""
    pairs = _Pairs()
    for match in _BRACES.finditer(text):
        mark, begin = match[0], match.start()
        if mark[0] == "{" and mark[-1] == "{":
            for i in range(len(mark) // 2):
                pairs.open("{{", begin + 2 * i)
        elif mark.endswith("{|"):
            pairs.open("{|", begin)
        elif mark.endswith("|}"):
            pairs.close("{|", match.end())
        else:
            ends = range(begin + 2, match.end() - 1, 2)
            for end in [*ends, match.end()]:
                pairs.close("{{", end)
    return pairs.without(text)


def _links_to_text(text, namespaces):
    """Replaces `[[target|label]]` with its label and drops links into other namespaces.

    Closing a link copies its text, so only the last `_MAX_OPEN_LINKS` openers can be closed.
    """
    out = [[]]  # text of the open links, outermost first
    position = 0
    for match in _BRACKETS.finditer(text):
        out[-1].append(text[position : match.start()])
        position = match.end()
        if match[0] == "[[":
            out.append([])
            if len(out) > _MAX_OPEN_LINKS + 1:
                out[0] += ["[[", *out.pop(1)]
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
    return label.rpartition("|")[2] if bar else target.lstrip(":")


def _paragraphs(text):
    lines = map(str.strip, text.split("\n"))
    for is_prose, group in itertools.groupby(lines, lambda x: x and not x.startswith(_NOT_PROSE)):
        if is_prose:
            yield " ".join(group)
