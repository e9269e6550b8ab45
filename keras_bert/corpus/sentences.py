"""Splitting paragraphs into sentences."""

import re

import sentencex

# About 128 tokens. Longer "sentences" are speeches inside quotation marks, or paragraphs whose
# quotation mark was never closed.
LONG_SENTENCE = 500

_QUOTES = "\"'`()[]{}“”„‟‘’‚‛«»‹›「」『』（）"
_WITHOUT_QUOTES = str.maketrans(dict.fromkeys(_QUOTES, " "))

# `sentencex` takes quadratic time, most of all with quotation marks: at the worst a tenth of a
# second for so many characters and marks. Novels have up to 700 marks in a window.
_WINDOW = 20_000
_MAX_QUOTES = 1000

_CUTS = (
    re.compile(r".*(?:[.!?…؟।።][\"'”’»)\]]*\s|[。！？][”’」』）]*)", re.S),
    re.compile(r".*\s", re.S),
)


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Splits a paragraph into sentences with `sentencex` (Wikimedia's rules for 300 languages).

    `sentencex` keeps text between quotation marks or brackets in one piece. A piece longer than
    500 characters is split again as if it had no such marks, and one longer than 10,000 characters
    may be cut anywhere, preferably after a sentence or a word. The time is linear in the length.

    Args:
        paragraph: str.
        language: language code, as in Wikipedia's addresses; unknown codes use default rules.

    Returns:
        list of non-empty str without surrounding whitespace.

    Example:
    ```python
    split_sentences("Mr. Smith left. It rained.")  # ["Mr. Smith left.", "It rained."]
    ```
    """
    sentences = []
    for piece in _pieces(paragraph, language):
        if len(piece) > LONG_SENTENCE:
            sentences += _split_inside_quotes(piece, language)
        elif piece := piece.strip():
            sentences.append(piece)
    return sentences


def _pieces(text, language):
    """Returns the pieces of `sentencex.segment`, which is given one window after another."""
    pieces, begin = [], 0
    while len(text) - begin > _WINDOW:
        window = text[begin : begin + _WINDOW]
        *whole, last = _window_pieces(window, language)
        pieces += whole
        # The window may end inside its last sentence, so the next window begins with that. Lengths
        # don't tell its place, because `sentencex` drops some blank lines.
        begin += window.rindex(last)
        if len(last) > _WINDOW // 2:
            cut = _cut(last)
            pieces.append(last[:cut])
            begin += cut
    return pieces + _window_pieces(text[begin:], language)


def _window_pieces(window, language):
    if len(window) > _MAX_QUOTES and sum(map(window.count, _QUOTES)) > _MAX_QUOTES:
        return [window]  # is split as a long sentence, without these marks
    return sentencex.segment(language, window)


def _cut(text):
    """Returns the end of the last sentence in a text, else of the last word, else of the text."""
    matches = (pattern.match(text) for pattern in _CUTS)
    return next((match.end() for match in matches if match), len(text))


def _split_inside_quotes(text, language):
    plain = text.translate(_WITHOUT_QUOTES)
    sentences, begin, end = [], 0, 0
    for piece in sentencex.segment(language, plain):
        end += len(piece)
        # To the splitter an opening mark is a space; it belongs to the sentence that follows.
        cut = end
        while cut > begin and not text[cut - 1].isspace() and plain[cut - 1] == " ":
            cut -= 1
        if cut == begin or not text[cut - 1].isspace():
            cut = end
        if sentence := text[begin:cut].strip():
            sentences.append(sentence)
        begin = cut
    if sentence := text[begin:].strip():
        sentences.append(sentence)
    return sentences
