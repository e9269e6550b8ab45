"""JSON files, read with a word on what is wrong with them."""

import json
from pathlib import Path


def read_json(path, kind=dict):
    """The object in a JSON file, or the list; an empty one if there is no such file.

    Args:
        path: a path.
        kind: `dict` or `list`, what the file should hold.

    Raises:
        ValueError: if it holds anything else.
    """
    path = Path(path)
    if not path.is_file():
        return kind()
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, kind):
        wanted = {dict: "object", list: "list"}[kind]
        raise ValueError(f"{path} must hold a JSON {wanted}; it holds a {type(value).__name__}.")
    return value


def write_json(path, value):
    """Writes a JSON file that people can read."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    Path(path).write_text(text + "\n", encoding="utf-8")
