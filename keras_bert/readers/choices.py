"""Files of questions with choices: SWAG's and CODAH's."""

import os
import re

from keras_bert.readers.table import read_table


def read_choices(path):
    r"""Reads the questions of a file of SWAG's, or of one like CODAH's.

    A file whose first row names its columns is SWAG's (Zellers et al. 2018), CSV or TSV: the
    context is `sent1`, and each choice is `sent2` with one of `ending0`, `ending1`, ...; `label`,
    which its test file lacks, is the right one's number. Another is one of CODAH's (Chen et al.
    2019), TSV: a category, the context, the choices, and the right one's number from 0; there
    quotes have no meaning.

    Args:
        path: the file; anything that `tf.io.gfile` opens. UTF-8.

    Returns:
        A list of dicts of `context`, str, `choices`, a list of str, and `label`, int, if the file
        has labels.

    Raises:
        ValueError: if the file can't be read, a column is missing, a row has fewer choices than
            others, or fewer than two, or a label is not a choice's; with file and line.

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
    columns = [table[name] for name in wanted]  # a ValueError if one isn't there
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
    "A file of choices has SWAG's columns, which its first row names (sent1, sent2, ending0, "
    "ending1, ..., label), or CODAH's, without names (category, context, two or more choices, the "
    "right one's number from 0)."
)


def _check_endings(table, row, texts):
    for number, text in enumerate(texts):
        if not text.strip():
            raise ValueError(
                f"{table.path}, line {table.lines[row]}: ending {number} of {len(texts)} is empty. "
                "Give the row as many endings as the others have, or remove it."
            )


def _with_labels(table, examples, column):
    for row, (label, example) in enumerate(zip(table[column], examples, strict=True)):
        places = range(len(example["choices"]))
        if label.strip() not in map(str, places):
            raise ValueError(
                f"{table.path}, line {table.lines[row]}: the label {label!r} is none of the "
                f"endings' numbers, {places[0]} to {places[-1]}. {_FORMS}"
            )
        example["label"] = int(label)
    return examples
