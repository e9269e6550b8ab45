"""Vocabulary files as other libraries write them."""


def read_vocabulary(path):
    r"""Tokens by id, as Google's `load_vocab` reads them: lines end at "\n" and are stripped.

    Args:
        path: a `Path`, of a file with a token a line.

    Raises:
        ValueError: if it is not UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from error
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def write_vocabulary(tokens, path):
    """Writes a token a line."""
    path.write_bytes("".join(f"{token}\n" for token in tokens).encode("utf-8"))


def is_uncased(tokens):
    """Whether (almost) no word of a vocabulary holds a capital letter."""
    words = [token for token in tokens if token.isascii() and not token.startswith("[")]
    return sum(word != word.lower() for word in words) <= 0.02 * len(words)
