"""Splitting paragraphs into sentences."""

import sentencex

# About 128 tokens. Longer "sentences" are speeches inside quotation marks, or paragraphs whose
# quotation mark was never closed.
LONG_SENTENCE = 500

_WITHOUT_QUOTES = str.maketrans(dict.fromkeys("\"'`()[]{}“”„‟‘’‚‛«»‹›「」『』（）", " "))


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Splits a paragraph into sentences with `sentencex` (Wikimedia's rules for 300 languages).

    `sentencex` keeps text between quotation marks or brackets in one piece. A piece longer than
    500 characters is split again as if it had no such marks.

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
