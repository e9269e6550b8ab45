"""Paragraphs to sentences."""

import sentencex

# About a whole sequence of 128 tokens: longer "sentences" are speeches inside quotation marks, or
# a paragraph whose quotation mark was never closed.
LONG_SENTENCE = 500

_WITHOUT_QUOTES = str.maketrans(dict.fromkeys("\"'`()[]{}“”„‟‘’‚‛«»‹›「」『』（）", " "))


def split_sentences(paragraph, language="en"):
    """Splits a paragraph into sentences, with `sentencex` (Wikimedia's rules for 300 languages).

    `sentencex` keeps what stands between quotation marks or brackets in one piece. A piece that
    gets longer than 500 characters that way is split again as if the marks were not there.

    Args:
        paragraph: str.
        language: code of the language, as in Wikipedia's addresses; unknown ones fall back.

    Returns:
        list of str without outer white space, none empty.

    Example:
    ```python
    split_sentences("Mr. Smith left. It rained.")  # ["Mr. Smith left.", "It rained."]
    ```
    """
    sentences = []
    for piece in sentencex.segment(language, paragraph):
        if len(piece) > LONG_SENTENCE:
            sentences += _split_inside_quotes(piece, language)
        elif piece := piece.strip():
            sentences.append(piece)
    return sentences


def _split_inside_quotes(text, language):
    plain = text.translate(_WITHOUT_QUOTES)
    sentences, begin, end = [], 0, 0
    for piece in sentencex.segment(language, plain):
        end += len(piece)
        # An opening mark looks like a space to the splitter: it belongs to what follows.
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
