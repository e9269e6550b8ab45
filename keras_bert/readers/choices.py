"""Reader of multiple-choice questions, in the formats of SWAG and CODAH."""

import os
import re

from keras_bert.readers.table import read_table


def read_choices(path: str | os.PathLike) -> list[dict]:
    r"""Reads the questions of a file in the format of SWAG or CODAH.

    SWAG (Zellers et al. 2018), CSV or TSV, has a header. The context is `sent1`, and each choice
    is `sent2` followed by one of `ending0`, `ending1`, ...; `label` is the number of the right
    choice, absent in its test file.

    CODAH (Chen et al. 2019), TSV, has no header. A row is a category, the context, the choices,
    and the number of the right choice from 0. Its quotes are plain characters.

    Args:
        path: the file, in UTF-8; any path that `tf.io.gfile` can open.

    Returns:
        A list of dicts of `context`, str, `choices`, a list of str, and `label`, int, if the file
        has labels.

    Raises:
        ValueError: if the file can't be read or lacks a column; if a row has fewer choices than
            the others, or fewer than two; or if a label is not the number of a choice. The message
            names the file and line.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "codah.tsv")
    >>> with open(path, "w") as file:
    ...     print("o\tIt rains. I\tget wet.\tam a lemon.\t0", file=file)
    >>> read_choices(path)
    [{'context': 'It rains. I', 'choices': ['get wet.', 'am a lemon.'], 'label': 0}]
    """
    path = os.fspath(path)
    is_comma = path.lower().endswith(".csv")
    table = read_table(path, header=False, quoting=None if is_comma else False)
    first = [table[column][0].strip() for column in table.columns]
    if "sent1" in first or any(re.fullmatch(r"ending\d+", name) for name in first):
        return _swag(read_table(path))
    return _codah(table)


def _swag(table):
    endings = [name for name in table.columns if re.fullmatch(r"ending\d+", name)]
    wanted = [f"ending{number}" for number in range(max(2, len(endings)))]
    columns = [table[name] for name in wanted]  # raises a ValueError if one is missing
    begins = table["sent2"]
    examples = []
    for row, context in enumerate(table["sent1"]):
        texts = [column[row] for column in columns]
        _check_endings(table, row, texts)
        choices = [f"{begins[row]} {text}".strip() for text in texts]
        examples.append({"context": context, "choices": choices})
    return _with_labels(table, examples, "label") if "label" in table else examples


def _codah(table):
    if len(table.columns) < 5:
        raise ValueError(f"{table.path} has {len(table.columns)} columns. {_FORMS}")
    _, contexts, *endings, label = table.columns
    columns = [table[name] for name in endings]
    examples = []
    for row, context in enumerate(table[contexts]):
        texts = [column[row] for column in columns]
        _check_endings(table, row, texts)
        examples.append({"context": context, "choices": texts})
    return _with_labels(table, examples, label)


_FORMS = (
    "A file of choices has SWAG's columns, named in its first row (sent1, sent2, ending0, "
    "ending1, ..., label), or CODAH's, without a header (category, context, two or more choices, "
    "the number of the right one from 0)."
)


def _check_endings(table, row, texts):
    for number, text in enumerate(texts):
        if not text.strip():
            raise ValueError(
                f"{table.path}, line {table.lines[row]}: ending {number} of {len(texts)} is empty. "
                "Give every row the same number of endings, or remove this one."
            )


def _with_labels(table, examples, column):
    for row, (label, example) in enumerate(zip(table[column], examples, strict=True)):
        places = range(len(example["choices"]))
        if label.strip() not in map(str, places):
            raise ValueError(
                f"{table.path}, line {table.lines[row]}: the label {label!r} is not the number of "
                f"an ending, {places[0]} to {places[-1]}. {_FORMS}"
            )
        example["label"] = int(label)
    return examples
