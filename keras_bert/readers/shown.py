"""Short forms of values, for messages and `repr`."""


def shown(value: object, limit: int = 80) -> str:
    """Returns a value's `repr`, shortened to `limit` characters.

    >>> shown(["a"] * 99, 16)
    "['a', 'a', 'a..."
    """
    return shortened(repr(value), limit)


def shortened(text: str, limit: int = 80) -> str:
    """Shortens a text to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
