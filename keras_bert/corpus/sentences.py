"""Splitting paragraphs into sentences."""

import re

from keras_bert.messages import from_extra

with from_extra("corpus"):
    import sentencex

# About 128 tokens. Longer "sentences" are speeches inside quotation marks, or paragraphs whose
# quotation mark was never closed.
LONG_SENTENCE = 500

_QUOTES = "\"'`()[]{}“”„‟‘’‚‛«»‹›「」『』（）"
_WITHOUT_QUOTES = str.maketrans(dict.fromkeys(_QUOTES, " "))

# `sentencex` takes time in proportion to the length of its text times what is costly in it:
# quotation marks, brackets, and letters far from a space, as in Chinese. So it is given windows of
# at most 20,000 characters, with at most 50 costly places after the first 1,000. The worst text,
# such as "。…" repeated, takes two or three seconds a megabyte.
_SMALL_WINDOW = 1_000
_WINDOW = 20_000
_MAX_COSTLY = 50
_MARKS = re.escape(_QUOTES + "《》<>")
_COSTLY = re.compile(rf"[{_MARKS}]|[^{_MARKS} \n.]{{20}}")

_CUTS = (
    re.compile(r".*(?:[.!?…؟।።][\"'”’»)\]]*\s|[。！？][”’」』）]*)", re.S),
    re.compile(r".*\s", re.S),
)


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Splits a paragraph into sentences with `sentencex` (Wikimedia's rules for 300 languages).

    `sentencex` keeps text between quotation marks or brackets in one piece. A piece longer than 500
    characters is split again as if it had no such marks, and one of thousands of characters may be
    cut anywhere, preferably after a sentence or a word. The time is linear in the length.
    """
    sentences = []
    for piece in _pieces(paragraph, language):
        if len(piece) > LONG_SENTENCE:
            sentences += _split_inside_quotes(piece, language)
        elif piece:
            sentences.append(piece)
    return sentences


def _pieces(text, language):
    begin = 0
    while begin < len(text):
        window = text[begin : _window_end(text, begin)]
        is_last = begin + len(window) == len(text)
        # The end of the next sentence is unknown, and so are quotation marks that are open there.
        known = len(window) if is_last else len(window) - LONG_SENTENCE
        done = 0
        for piece in sentencex.segment(language, window):
            piece = piece.strip()
            end = window.index(piece, done) + len(piece)
            if end > known:
                break
            yield piece
            done = end
        if is_last:
            return
        if done < len(window) // 2:
            cut = done + _cut(window[done:])
            yield window[done:cut].strip()
            done = cut
        begin += done


def _window_end(text, begin):
    costly = _COSTLY.finditer(text, begin + _SMALL_WINDOW, begin + _WINDOW)
    for count, match in enumerate(costly):
        if count == _MAX_COSTLY:
            return match.end()
    return begin + _WINDOW


def _cut(text):
    """Returns the end of the last sentence in a text, else of the last word, else of the text."""
    for pattern in _CUTS:
        if match := pattern.match(text):
            return match.end()
    return len(text)


def _split_inside_quotes(text, language):
    plain = text.translate(_WITHOUT_QUOTES)
    sentences = []
    begin = end = 0
    for piece in sentencex.segment(language, plain):
        end += len(piece)
        # To the splitter an opening mark is a space; it belongs to the sentence that follows.
        cut = end
        while cut > begin and not text[cut - 1].isspace() and plain[cut - 1] == " ":
            cut -= 1
        if cut == begin or not text[cut - 1].isspace():
            cut = end
        sentences.append(text[begin:cut].strip())
        begin = cut
    sentences.append(text[begin:].strip())
    return [sentence for sentence in sentences if sentence]
