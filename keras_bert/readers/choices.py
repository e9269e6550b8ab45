"""Reader of multiple-choice questions, in the formats of SWAG and CODAH."""

import os
import re

from keras_bert.files.remote import packing
from keras_bert.readers.table import read_table

_SWAG_NAME = re.compile(r"sent1|ending\d+")
_FORMS = (
    "A file of choices has SWAG's columns, named in its first row (sent1, sent2, ending0, "
    "ending1, ..., label), or CODAH's, without a header (category, context, two or more choices, "
    "the index of the correct one, from 0)."
)


def read_choices(path: str | os.PathLike) -> list[dict]:
    r"""Reads the questions of a file in the format of SWAG or CODAH.

    SWAG (Zellers et al. 2018), CSV or TSV, has a header. The context is `sent1`, and each choice
    is `sent2` followed by one of `ending0`, `ending1`, ...; `label` is the index of the correct
    one. CODAH (Chen et al. 2019), TSV, has no header. A row is a category, the context, the
    choices, and the index of the correct one, from 0. Its quotes are plain characters.

    Args:
        path: the file, in UTF-8; any path that `tf.io.gfile` can open.

    Returns:
        A list of dicts of `context`, str, `choices`, a list of str, and `label`, int, if the file
        has labels.

    Raises:
        ValueError: if the file can't be read or lacks a column, a row lacks a choice, or a label is
            not the index of a choice. The message names the file and line.

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
    first_row = [cell.strip() for cell in table.rows[0]]
    is_swag = any(_SWAG_NAME.fullmatch(name) for name in table.columns + first_row)
    if is_swag:
        table = read_table(path)  # again, with its header
        context_name = "sent1"
        beginnings = table["sent2"]
        num_choices = sum(name.startswith("ending") for name in table.columns)
        num_choices = max(2, num_choices)  # table["ending1"] says so if there are fewer
        names = [f"ending{index}" for index in range(num_choices)]
        label_name = "label"
    elif len(table.columns) < 5:
        raise ValueError(f"{table.path} has {len(table.columns)} columns. {_FORMS}")
    else:
        _, context_name, *names, label_name = table.columns
    contexts = table[context_name]
    columns = [table[name] for name in names]
    examples = []
    for row, choices in enumerate(zip(*columns, strict=True)):
        _check_choices(table, row, choices)
        if is_swag:
            choices = [f"{beginnings[row]} {choice}".strip() for choice in choices]
        examples.append({"context": contexts[row], "choices": list(choices)})
    if label_name in table:
        for row, label in enumerate(table[label_name]):
            examples[row]["label"] = _label(table, row, label, len(names))
    return examples


def _check_choices(table, row, texts):
    for index, text in enumerate(texts):
        if not text.strip():
            wrong = f"ending {index} of {len(texts)} is empty"
            raise table.error(row, f"{wrong}. Fill it, or remove the row.")


def _label(table, row, label, num_choices):
    if label.strip() not in [str(index) for index in range(num_choices)]:
        wrong = f"the label {label!r} is not the number of an ending, 0 to {num_choices - 1}"
        raise table.error(row, f"{wrong}. {_FORMS}")
    return int(label)
