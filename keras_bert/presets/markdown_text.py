"""Foreign text, such as labels and settings, as inert Markdown and YAML."""

import json
import re

from keras_bert.messages import shortened

_JOINERS = "\u200c\u200d"  # invisible, but part of words in Persian and Indic scripts


def code(value: object, limit: int = 200) -> str:
    r"""Returns a value as a Markdown code span on one line, whatever characters it has.

    Line breaks, control characters and marks that reverse the order of text become spaces.

    Example:
    >>> print(code("not_<b>\n|entailed|"), code("a`b"))
    `not_<b> |entailed|` ``a`b``
    """
    text = "".join(c if c.isprintable() or c in _JOINERS else " " for c in str(value))
    text = shortened(text.strip(), limit)
    if not text:
        return '`""`'
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def front_matter(fields: dict[str, str | list[str]]) -> str:
    """Returns the YAML block at the head of a model card; each string is quoted.

    Example:
    >>> print(front_matter({"library_name": "keras_bert", "tags": ["bert"]}))
    ---
    library_name: "keras_bert"
    tags:
    - "bert"
    ---
    """
    lines = []
    for name, value in fields.items():
        if isinstance(value, str):
            lines.append(f"{name}: {json.dumps(value)}")
        else:
            lines += [f"{name}:", *(f"- {json.dumps(item)}" for item in value)]
    return "\n".join(["---", *lines, "---"])
