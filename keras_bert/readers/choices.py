"""Reader of multiple-choice questions, in the formats of SWAG and CODAH."""

import os
import re

from keras_bert.files.remote import packing
from keras_bert.readers.separated import separated_rows

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
    mark = "," if is_csv else "\t"
    rows = _whole_rows(path, mark, quoting=is_csv)
    header = [cell.strip() for cell in rows[0][1]]
    if any(map(_SWAG_NAME.fullmatch, header)):
        return _swag(path, header, _whole_rows(path, mark, quoting=True)[1:])
    if len(header) < 5:
        raise ValueError(f"{path} has {len(header)} columns. {_FORMS}")
    return [
        _example(path, line, context, choices, label)
        for line, (_, context, *choices, label) in rows
    ]


def _whole_rows(path, mark, quoting):
    rows, malformed = separated_rows(path, mark, quoting)
    for line, wrong in malformed:
        raise ValueError(f"{path}, line {line}: {wrong}. Fix the row, or check the quotes.")
    return rows


def _swag(path, header, rows):
    num_choices = max(2, sum(name.startswith("ending") for name in header))
    names = [f"ending{index}" for index in range(num_choices)]
    for name in ("sent1", "sent2", *names):
        if name not in header:
            columns = ", ".join(header)
            raise ValueError(f"{path} has no column {name!r}. Its columns are: {columns}.")
    if not rows:
        raise ValueError(f"{path} has no rows below its header.")
    examples = []
    for line, row in rows:
        fields = dict(zip(header, row, strict=True))
        endings = [fields[name] for name in names]
        label = fields.get("label")
        examples.append(_example(path, line, fields["sent1"], endings, label, fields["sent2"]))
    return examples


def _example(path, line, context, endings, label, start=None):
    """Makes an example, perhaps without a label; `start` is the text before each ending."""
    for index, ending in enumerate(endings):
        if not ending.strip():
            raise ValueError(
                f"{path}, line {line}: ending {index} of {len(endings)} is empty. Fill it, or "
                "remove the row."
            )
    if start is not None:
        endings = [f"{start} {ending}".strip() for ending in endings]
    example = {"context": context, "choices": endings}
    if label is not None:
        if label.strip() not in [str(index) for index in range(len(endings))]:
            raise ValueError(
                f"{path}, line {line}: the label {label!r} is not the number of an ending, 0 to "
                f"{len(endings) - 1}. {_FORMS}"
            )
        example["label"] = int(label)
    return example
