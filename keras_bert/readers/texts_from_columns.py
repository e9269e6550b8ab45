"""Texts made from the columns of a table."""

import re
import string
from collections.abc import Sequence

from keras_bert.readers.table import Table

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")


def texts_from_columns(table: Table | dict[str, Sequence], template: str) -> list[str]:
    r"""Makes a text from each row of a table, following a template.

    Values are written as they are in the file. A sentence of the template is dropped if all its
    values are empty. Sentences end with `.`, `!`, `?` or `;` before a space, or with a newline.

    Args:
        table: a `Table` from `read_table`, or a dict of lists of strings.
        template: str, with column names in braces: `"{Name}. I'm {Age} years old."` Double a
            brace to write it literally.

    Returns:
        A list of str.

    Raises:
        ValueError: if the template is malformed, or names no column or a missing one.

    Example:
    >>> table = {"Name": ["Rex", "Tom"], "Kind": ["Dog", ""], "Age": ["3", ""]}
    >>> texts_from_columns(table, "{Name}. {Kind}. I'm {Age} years old.")
    ["Rex. Dog. I'm 3 years old.", 'Tom.']
    """
    sentences = _sentences(template)
    names = {name for sentence in sentences for _, name in sentence if name is not None}
    for name in names:
        if name not in table and isinstance(table, dict):
            raise ValueError(f"There is no column {name!r}. The columns are: {', '.join(table)}.")
    rows = zip(*([str(value).strip() for value in table[name]] for name in names), strict=True)
    return [_text(sentences, dict(zip(names, row, strict=True))) for row in rows]


def _sentences(template):
    """Splits the template into sentences, each a list of `(words, following column or None)`."""
    try:
        parts = list(string.Formatter().parse(template))
        if all(name is None for _, name, *_ in parts) or any(f or c for _, _, f, c in parts):
            raise ValueError("it must name columns, without a format")
    except ValueError as error:
        raise ValueError(
            f"The template {template!r} is malformed: {error}. Write column names in braces, as in "
            "'{title}. {text}'; double a literal brace."
        ) from error
    sentences = [[]]
    for words, name, *_ in parts:
        *ended, last = _SENTENCE_END.split(words)
        for sentence in ended:
            sentences[-1].append((sentence, None))
            sentences.append([])
        sentences[-1].append((last, name))
    return sentences


def _text(sentences, values):
    texts = []
    for sentence in sentences:
        own = [values[name] for _, name in sentence if name is not None]
        if any(own) or not own:
            written = "".join(words + values.get(name, "") for words, name in sentence)
            texts.append(" ".join(written.split()))
    return " ".join(filter(None, texts))
