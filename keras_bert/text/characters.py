"""The rules of BERT's BasicTokenizer for one character, as tables that fill themselves.

Source: `tokenization.py` of google-research/bert.
"""

import unicodedata
from collections.abc import Callable

# The blocks that tokenization.py calls CJK; each of their characters is a word.
CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


def is_punctuation(character: str) -> bool:
    """Returns whether a character is an ASCII symbol or in Unicode category P."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


def is_cjk(character: str) -> bool:
    """Returns whether BERT puts spaces around a character (`_is_chinese_char`)."""
    return any(first <= ord(character) <= last for first, last in CJK)


def cleaned(character: str) -> str:
    """Returns "" for a character that is deleted, " " for a space, or the character itself."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    return "" if category in ("Cc", "Cf", "Cs") or character == "\ufffd" else character


def without_accents(character: str) -> str:
    """Decomposes a character of a lower-cased word (NFD) and removes its accents."""
    decomposed = unicodedata.normalize("NFD", character)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


class Table(dict):
    """A table for `str.translate` that computes the replacement of a character on first use."""

    def __init__(self, replace: Callable[[str], str]):
        super().__init__()
        self._replace = replace

    def __missing__(self, code_point):
        self[code_point] = replacement = self._replace(chr(code_point))
        return replacement
