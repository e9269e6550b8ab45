"""Reads, checks and writes vocabularies: a token a line, its line number its id."""

import os
import warnings
from collections.abc import Iterable

from keras_bert.files.remote import read_bytes
from keras_bert.files.whole import whole_file

PAD, UNK, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_vocabulary(vocabulary: str | os.PathLike | Iterable[str]) -> list[str]:
    r"""Reads a vocabulary and refuses one that no BERT can use.

    Lines end at "\n" alone and are stripped, as `load_vocab` of google-research/bert does it, so
    that Windows line ends do no harm and Google's Chinese vocabulary, which has lines of one
    strange space, keeps its ids.

    Args:
        vocabulary: path of a vocab.txt, `"gs://..."` too, or the tokens as a list of str.

    Returns:
        list of str: the tokens by id.

    Raises:
        ValueError: if there are no tokens, the file is not UTF-8, or one of [PAD], [UNK], [CLS],
            [SEP] and [MASK] is missing.
    """
    if isinstance(vocabulary, (str, os.PathLike)):
        source = f"vocabulary {os.fspath(vocabulary)!r}"
        tokens = _read_lines(vocabulary, source)
    else:
        source = "vocabulary list"
        if not hasattr(vocabulary, "__iter__") or isinstance(vocabulary, (bytes, dict)):
            raise ValueError(
                "vocabulary must be the path of a vocab.txt or a list of str, got "
                f"{type(vocabulary).__name__}"
            )
        tokens = list(vocabulary)
        wrong = [token for token in tokens if not isinstance(token, str)]
        if wrong:
            raise ValueError(
                f"the {source} must hold str, got {wrong[0]!r} of type {type(wrong[0]).__name__}"
            )
    tokens = [token.strip() for token in tokens]
    _check(tokens, source)
    return tokens


def write_vocabulary(path: str | os.PathLike, tokens: Iterable[str]) -> None:
    """Writes a vocabulary, one token a line, whole or not at all.

    Args:
        path: path of the vocab.txt, local or remote.
        tokens: list of str.
    """
    with whole_file(path) as file:
        file.writelines(f"{token}\n" for token in tokens)


def _read_lines(path, source):
    data = read_bytes(path)
    if data.startswith(b"\xef\xbb\xbf"):
        warnings.warn(f"the {source} starts with a byte order mark, dropped", stacklevel=4)
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"the {source} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}. "
            "Save it as UTF-8, one token a line."
        ) from error
    if "\r\n" in text:
        warnings.warn(f"the {source} has Windows line ends, read as plain ones", stacklevel=4)
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _check(tokens, source):
    if not any(tokens):
        raise ValueError(f"the {source} is empty: expected one token a line, [PAD] among them")
    ids = {}
    repeated = []
    for number, token in enumerate(tokens):
        if "\n" in token:
            raise ValueError(f"token {number} of the {source} has a line end inside: {token!r}")
        if token in ids and token:
            repeated.append((token, ids[token], number))
        ids[token] = number
    missing = [token for token in SPECIAL_TOKENS if token not in ids]
    if missing:
        raise ValueError(
            f"the {source} of {len(tokens)} lines, the first {tokens[0]!r}, lacks "
            f"{', '.join(missing)}. A BERT vocabulary is a text file with a token a line and "
            f"holds {', '.join(SPECIAL_TOKENS)}; add them, or learn one with learn_vocabulary."
        )
    if repeated:
        token, first, second = repeated[0]
        warnings.warn(
            f"the {source} has {len(repeated)} repeated tokens, the first {token!r} at ids {first} "
            f"and {second}. The last id counts, as in google-research/bert.",
            stacklevel=4,
        )
