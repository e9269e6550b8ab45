"""Lines of JSON as the rows of a table."""

import json

from keras_bert.messages import shown


def json_rows(
    path: str, text: str, malformed: str = "error"
) -> tuple[list[str], list[list[str]], list[int], list[int]]:
    r"""Parses lines of JSON, each an object with the keys of the first one.

    Strings are kept, and numbers and booleans become JSON text.

    Args:
        path: the file, for messages.
        text: its contents.
        malformed: `"error"`, or `"skip"` to skip lines that aren't such objects.

    Returns:
        `(columns, rows, lines, skipped)`: the keys, lists of strings, the line of each row, and the
        lines of skipped rows.

    Raises:
        ValueError: if a line is not an object with these keys, or a value is a list, an object,
            null or NaN. The message names the line.

    Example:
    >>> json_rows("a.jsonl", '{"text": "Good.", "label": 1}\n{"label": 0, "text": "Bad."}\n')
    (['text', 'label'], [['Good.', '1'], ['Bad.', '0']], [1, 2], [])
    """
    columns, rows, lines, skipped = None, [], [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = _object(line)
            columns = list(values) if columns is None else columns
            if values.keys() != set(columns):
                raise ValueError(
                    f"the keys are {', '.join(values)}, but those of the first line are "
                    f"{', '.join(columns)}"
                )
            row = [_as_text(name, values[name]) for name in columns]
        except (ValueError, RecursionError) as error:
            if malformed == "skip":
                skipped.append(number)
                continue
            is_deep = isinstance(error, RecursionError)
            reason = f"{shown(line)} is nested too deeply" if is_deep else error
            raise ValueError(f"{path}, line {number}: {reason}. Fix or remove the line.") from error
        rows.append(row)
        lines.append(number)
    if not rows:
        raise ValueError(f"{path} has no rows: none of its lines is a JSON object.")
    return columns, rows, lines, skipped


def _object(line):
    try:
        values = json.loads(line, parse_constant=_refused)
    except ValueError as error:
        raise ValueError(f"{shown(line)} is not JSON ({error})") from error
    if not isinstance(values, dict) or not values:
        raise ValueError(f"{shown(line)} is not a JSON object with keys")
    return values


def _refused(constant):
    raise ValueError(f"{constant} is no number in JSON")


def _as_text(name, value):
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (list, dict)):
        raise ValueError(f"the value of {name!r} is {shown(value)}, not a string or a number")
    return json.dumps(value)
