"""Reader of multiple-choice questions, in the formats of SWAG and CODAH."""

import os
import re

from keras_bert.files.remote import packing
from keras_bert.readers.table import read_table


def read_choices(path: str | os.PathLike) -> list[dict]:
    r"""Reads the questions of a file in the format of SWAG or CODAH.

    SWAG (Zellers et al. 2018), CSV or TSV, has a header. The context is `sent1`, and each choice
    is `sent2` followed by one of `ending0`, `ending1`, ...; `label` is the number of the right one.
    CODAH (Chen et al. 2019), TSV, has no header. A row is a category, the context, the choices,
    and the number of the right one from 0. Its quotes are plain characters.

    Args:
        path: the file, in UTF-8; any path that `tf.io.gfile` can open.

    Returns:
        A list of dicts of `context`, str, `choices`, a list of str, and `label`, int, if the file
        has labels.

    Raises:
        ValueError: if the file can't be read or lacks a column, a row lacks a choice, or a label is
            not the number of a choice. The message names the file and line.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "codah.tsv")
    >>> with open(path, "w") as file:
    ...     print("o\tIt rains. I\tget wet.\tam a lemon.\t0", file=file)
    >>> read_choices(path)
    [{'context': 'It rains. I', 'choices': ['get wet.', 'am a lemon.'], 'label': 0}]
    """
    path = os.fspath(path)
    is_csv = path.lower().removesuffix(packing(path)).endswith(".csv")
    table = read_table(path, header=False, quoting=is_csv)
    first = [table[column][0].strip() for column in table.columns]
    if any(re.fullmatch(r"sent1|ending\d+", name) for name in (*table.columns, *first)):
        table = read_table(path)
        contexts, begins = table["sent1"], table["sent2"]
        count = sum(re.fullmatch(r"ending\d+", name) is not None for name in table.columns)
        endings = [f"ending{number}" for number in range(max(2, count))]
        label = "label" if "label" in table else None
    elif len(table.columns) < 5:
        raise ValueError(f"{table.path} has {len(table.columns)} columns. {_FORMS}")
    else:
        _, column, *endings, label = table.columns
        contexts, begins = table[column], [None] * len(table)
    labels = [None] * len(table) if label is None else table[label]
    columns = zip(*(table[ending] for ending in endings), strict=True)
    rows = zip(contexts, begins, columns, labels, strict=True)
    return [_example(table, row, *values) for row, values in enumerate(rows)]


_FORMS = (
    "A file of choices has SWAG's columns, named in its first row (sent1, sent2, ending0, "
    "ending1, ..., label), or CODAH's, without a header (category, context, two or more choices, "
    "the number of the right one from 0)."
)


def _example(table, row, context, begin, endings, label):
    if empty := [number for number, text in enumerate(endings) if not text.strip()]:
        wrong = f"ending {empty[0]} of {len(endings)} is empty"
        raise table.error(row, f"{wrong}. Fill it, or remove the row.")
    choices = list(endings) if begin is None else [f"{begin} {text}".strip() for text in endings]
    example = {"context": context, "choices": choices}
    if label is None:
        return example
    if label.strip() not in map(str, range(len(endings))):
        wrong = f"the label {label!r} is not the number of an ending, 0 to {len(endings) - 1}"
        raise table.error(row, f"{wrong}. {_FORMS}")
    return {**example, "label": int(label)}
