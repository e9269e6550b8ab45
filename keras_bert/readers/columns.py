"""Texts made from the columns of a table."""

import re
import string
from collections.abc import Sequence

from keras_bert.messages import is_missing
from keras_bert.readers.table import Table

_SENTENCE_END = re.compile(r"(?:(?<=[.!?;])\s+|\n+)(?![^{}]*\})")  # outside of braces


def texts_from_columns(table: Table | dict[str, Sequence], template: str) -> list[str]:
    r"""Makes a text from each row of a table, following a template.

    Values are written as they are in the file. A sentence of the template is dropped if its values
    are empty or missing. Sentences end with `.`, `!`, `?` or `;` before a space, or with a newline.

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
    try:
        names = _names(template)
        if not names:
            raise ValueError("it must name columns, without a format")
    except ValueError as error:
        raise ValueError(
            f"The template {template!r} is malformed: {error}. Write column names in braces, as in "
            "'{title}. {text}'; double a literal brace."
        ) from error
    columns = []
    for name in names:
        if name not in table and isinstance(table, dict):
            raise ValueError(f"There is no column {name!r}. The columns are: {', '.join(table)}.")
        columns.append(map(_cell, table[name]))
    sentences = [(text, _names(text)) for text in _SENTENCE_END.split(template)]
    texts = []
    for row in zip(*columns, strict=True):
        values = dict(zip(names, row, strict=True))
        texts.append(_text(sentences, values))
    return texts


def _cell(value):
    return "" if is_missing(value) else str(value).strip()


class _Templates(string.Formatter):
    def get_field(self, field_name, args, kwargs):  # of a name with dots or brackets, too
        return kwargs[field_name], field_name


_TEMPLATES = _Templates()


def _names(template):
    """Lists the column names in a template, each once."""
    names = {}
    for _, name, form, conversion in _TEMPLATES.parse(template):
        if form or conversion:
            raise ValueError("it must name columns, without a format")
        if name is not None:
            names[name] = None
    return list(names)


def _text(sentences, values):
    texts = []
    for sentence, names in sentences:
        if not names or any(map(values.get, names)):
            texts += _TEMPLATES.vformat(sentence, (), values).split()
    return " ".join(texts)
