"""Vocabulary files of other libraries."""

from pathlib import Path


def read_vocabulary(path: Path) -> list[str]:
    r"""Reads the tokens of a vocabulary file, by id.

    As in Google's `load_vocab`, lines end only at "\n" and are stripped. The special tokens aren't
    checked here, because other libraries may use other names for them.

    Args:
        path: a `Path` of a file with one token per line.

    Raises:
        ValueError: if the file isn't UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from error
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def is_uncased(tokens: list[str]) -> bool:
    """Returns whether at most 2 % of a vocabulary's ASCII words contain a capital letter."""
    words = [token for token in tokens if token.isascii() and not token.startswith("[")]
    return sum(word != word.lower() for word in words) <= 0.02 * len(words)
