"""Texts that this library wrote, told apart from those that people wrote or edited."""

import hashlib
import re

_SIGNATURE = "\n\n<!-- Written by keras_bert, until somebody edits it. {} -->\n"
_SIGNED = re.compile(
    r"(?P<text>.*)\n\n<!-- Written by keras_bert\b[^\n]* (?P<digest>[0-9a-f]{16}) -->\s*", re.DOTALL
)


def signed(text: str) -> str:
    """Appends an HTML comment with a checksum to a Markdown text.

    Example:
    >>> print(signed("# A model"))
    # A model
    <BLANKLINE>
    <!-- Written by keras_bert, until somebody edits it. 11e5cf33736e2afa -->
    <BLANKLINE>
    """
    text = text.rstrip("\n")
    return text + _SIGNATURE.format(_digest(text))


def unsigned(text: str) -> str | None:
    """Returns a text without its signature; None if it has none, or was edited since."""
    found = _SIGNED.fullmatch(text.replace("\r\n", "\n"))
    if found is None or found["digest"] != _digest(found["text"]):
        return None
    return found["text"]


def _digest(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
