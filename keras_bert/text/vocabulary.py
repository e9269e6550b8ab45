"""Reads, checks and writes vocabularies: one token per line, the line number is the id."""

import codecs
import dataclasses
import hashlib
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Self

from keras_bert.files.remote import decoded, read_bytes
from keras_bert.messages import shown

PAD, UNK, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SPECIAL_TOKENS_OF = {None: SPECIAL_TOKENS, "mpnet": ("<pad>", UNK, "<s>", "</s>", "<mask>")}
"""The special tokens of each `family` of WordPiece vocabularies."""
TOKENIZER_FILE = "tokenizer.json"
"""The file of Hugging Face's `tokenizers`, which a `FastTokenizer` reads."""


@dataclasses.dataclass(frozen=True)
class SavedVocabulary:
    """Size and hash of a vocabulary whose tokens are in another file, as in a `.keras` file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, tokens: Sequence[str]) -> Self:
        return cls(len(tokens), vocabulary_sha256(tokens))

    @classmethod
    def from_dict(cls, fields: Any) -> Self | None:
        """Makes one of the result of `to_dict`; returns None if it is something else."""
        if not isinstance(fields, dict) or fields.keys() != {"size", "sha256"}:
            return None
        if type(fields["size"]) is not int or not isinstance(fields["sha256"], str):
            return None
        return cls(**fields) if fields["size"] > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields, for a config in JSON."""
        return dataclasses.asdict(self)

    def check(self, tokens: Sequence[str]) -> None:
        """Raises a ValueError unless these are the tokens that were hashed."""
        loaded = self.of(tokens)
        if loaded != self:
            raise ValueError(
                "This is not the vocabulary that the model was saved with: it is damaged, or has "
                f"SHA-256 {loaded.sha256[:12]} instead of {self.sha256[:12]}."
            )


def vocabulary_sha256(tokens: Iterable[str]) -> str:
    """Hashes the tokens, joined by newlines, to identify a vocabulary."""
    return hashlib.sha256("\n".join(tokens).encode("utf-8")).hexdigest()


def read_vocabulary(
    vocabulary: str | os.PathLike | Iterable[str], special: Sequence[str] = SPECIAL_TOKENS
) -> list[str]:
    """Reads and checks a vocabulary: the path of a vocab.txt, local or remote, or a list of str.

    Raises:
        ValueError: if there are no tokens, the file is not UTF-8, or a special token is missing.
        OSError: if the file can't be read.
    """
    if isinstance(vocabulary, (str, os.PathLike)):
        source = f"vocabulary {os.fspath(vocabulary)!r}"
        tokens = read_lines(vocabulary)
    else:
        source = "vocabulary list"
        is_list = isinstance(vocabulary, Iterable) and not isinstance(vocabulary, (bytes, dict))
        is_scalar = getattr(vocabulary, "shape", None) == ()
        tokens = []
        for token in vocabulary if is_list and not is_scalar else [vocabulary]:
            if not isinstance(token, str):
                raise ValueError(
                    "vocabulary must be the path of a vocab.txt or a list of str; got "
                    f"{type(token).__name__}, {shown(token)}."
                )
            tokens.append(token.strip())
    _check(tokens, source, special)
    return tokens


def read_lines(path: str | os.PathLike) -> list[str]:
    r"""Reads the tokens of a vocab.txt, local or remote, whatever the special tokens are called.

    Lines end only at "\n" and are stripped, as in `load_vocab` of google-research/bert. Google's
    Chinese vocabulary thus keeps its ids, although some of its lines are a single unusual space.
    """
    source = f"the vocabulary {os.fspath(path)!r}"
    try:
        data = read_bytes(path)
    except ValueError as error:  # of a null character, or one that can't be encoded
        raise ValueError(f"{source} is not a path: {error}") from error
    text = decoded(data.removeprefix(codecs.BOM_UTF8), source)
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def ascii_words(tokens: Iterable[str]) -> list[str]:
    """Returns the ASCII words of a vocabulary, without special tokens."""
    return [token for token in tokens if token.isascii() and not token.startswith("[")]


def is_uncased(tokens: list[str]) -> bool:
    """Returns whether at most 2 % of a vocabulary's ASCII words contain a capital letter."""
    words = ascii_words(tokens)
    return sum(word != word.lower() for word in words) <= 0.02 * len(words)


def _check(tokens, source, special):
    ids = {}
    repeated = []
    for index, token in enumerate(tokens):
        if "\n" in token:
            raise ValueError(f"token {index} of the {source} contains a line ending: {token!r}")
        if token in ids and token:
            repeated.append((token, ids[token], index))
        ids[token] = index
    if missing := [token for token in special if token not in ids]:
        fix = (
            "pass family='mpnet'"
            if "<s>" in ids
            else "add them (to a model's, by its grow_vocabulary), or call learn_vocabulary"
        )
        raise ValueError(
            f"the {source} of {len(tokens)} lines, which begins with {shown(tokens[:2])}, lacks "
            f"{', '.join(missing)}: {fix}."
        )
    if repeated:
        token, first, second = repeated[0]
        warnings.warn(
            f"the {source} has {len(repeated)} repeated tokens, the first {token!r} at ids {first} "
            f"and {second}. The last id is used, as in google-research/bert.",
            stacklevel=4,
        )
