"""Lines of JSON as the rows of a table."""

import json

from keras_bert.messages import shown


def json_rows(
    path: str, text: str, malformed: str = "error"
) -> tuple[list[str], list[list[str]], list[int], list[int]]:
    r"""Parses lines of JSON, each an object with the keys of the first one.

    Strings are kept, and numbers and booleans become JSON text. Returns `(columns, rows, lines,
    skipped)`: the keys, lists of strings, the line of each row, and the lines that
    `malformed="skip"` left out because they aren't such objects. `path` is for messages.

    Example:
    >>> json_rows("a.jsonl", '{"text": "Good.", "label": 1}\n{"label": 0, "text": "Bad."}\n')
    (['text', 'label'], [['Good.', '1'], ['Bad.', '0']], [1, 2], [])
    """
    columns, rows, lines, skipped = None, [], [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = _row(line, columns)
        except (ValueError, RecursionError) as error:
            if malformed == "error":
                raise ValueError(
                    f"{path}, line {number}: {shown(line)}: {error}. Each line needs a JSON object "
                    "of strings and numbers, with the keys of the first line. Fix or remove it."
                ) from error
            skipped.append(number)
            continue
        columns = columns or list(row)
        rows.append([row[name] for name in columns])
        lines.append(number)
    if not rows:
        raise ValueError(f"{path} has no rows: none of its lines is a JSON object.")
    return columns, rows, lines, skipped


def _row(line, columns):
    values = json.loads(line, parse_constant=_refuse)
    if not isinstance(values, dict) or not values:
        raise ValueError("not a JSON object with keys")
    if columns and values.keys() != set(columns):
        raise ValueError(f"the first line has the keys {', '.join(columns)}")
    for name, value in values.items():
        if not isinstance(value, str | int | float):
            raise ValueError(f"the value of {name!r} is {shown(value)}")
    return {name: v if isinstance(v, str) else json.dumps(v) for name, v in values.items()}


def _refuse(constant):
    raise ValueError(f"{constant} is no number in JSON")
