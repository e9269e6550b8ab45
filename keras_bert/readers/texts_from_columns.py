"""Columns of a table, written into texts."""

import re
import string

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")


def texts_from_columns(table, template):
    r"""A text for each row of a table, after a template.

    Values stand in the text as they stand in the file. Where one is empty, nothing is written for
    it, and a sentence all of whose values are empty is left out: sentences of the template end in
    `.`, `!`, `?` or `;` and a space, or in a new line.

    Args:
        table: what `read_table` gives, or a dict of lists of strings.
        template: str, with the names of columns in braces: `"{Name}. I'm {Age} years old."`; a
            brace itself is written twice.

    Returns:
        A list of str.

    Raises:
        ValueError: if the template names no column, or one that isn't there, or is malformed.

    Example:
    >>> table = {"Name": ["Rex", "Tom"], "Kind": ["Dog", ""], "Age": ["3", ""]}
    >>> texts_from_columns(table, "{Name}. {Kind}. I'm {Age} years old.")
    ["Rex. Dog. I'm 3 years old.", 'Tom.']
    """
    sentences = _sentences(template)
    names = {name for sentence in sentences for _, name in sentence if name is not None}
    if not names:
        raise ValueError(
            f"The template {template!r} names no column. Write a column's name in braces, as in "
            '"{title}. {text}".'
        )
    for name in names:
        if isinstance(table, dict) and name not in table:
            raise ValueError(f"There is no column {name!r}; there are {', '.join(table)}.")
    columns = {name: [str(value).strip() for value in table[name]] for name in names}
    rows = range(len(columns[next(iter(names))]))
    return [_text(sentences, {name: columns[name][row] for name in names}) for row in rows]


def _sentences(template):
    """The template's sentences, each a list of `(words, column behind them or None)`."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(
            f"The template {template!r} is malformed: {error}. Names of columns stand in braces; "
            "a brace itself is written twice."
        ) from error
    sentences = [[]]
    for words, name, form, conversion in parts:
        if form or conversion:
            raise ValueError(
                f"The template {template!r} asks for a form of column {name!r}; values are "
                f"written as they stand in the file: write {{{name}}}."
            )
        *ended, last = _SENTENCE_END.split(words)
        for sentence in ended:
            sentences[-1].append((sentence, None))
            sentences.append([])
        sentences[-1].append((last, name))
    return sentences


def _text(sentences, values):
    """The text of one row: its sentences, but for those all of whose values are empty."""
    texts = []
    for sentence in sentences:
        found = [values[name] for _, name in sentence if name is not None]
        if any(found) or not found:
            written = "".join(words + values.get(name, "") for words, name in sentence)
            texts.append(" ".join(written.split()))
    return " ".join(filter(None, texts))
