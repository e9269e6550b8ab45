"""SentencePiece models: their families, and the places of their tokens. N texts, T tokens."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

MODEL_FILE = "sentencepiece.bpe.model"
# {family: its tokens before those of the SentencePiece model, whose first three give way to them}
FAMILIES = {
    "xlm-roberta": ("<s>", "<pad>", "</s>", "<unk>"),
    "camembert": ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"),
}
# Characters that normalization turns into spaces, or deletes, for `re` and for RE2.
SPACES = (
    "[\\x00-\\x20\\x7f\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u2581\u3000\ufeff\ufffd]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")  # of bytes that aren't UTF-8
_SPACE = re.compile(SPACES)


def loaded(model: bytes) -> Any:
    """Loads a model as a `SentencePieceProcessor`; a ValueError if it is none."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise ImportError(
            'This vocabulary needs sentencepiece: pip install "keras3-bert[sentencepiece]".'
        ) from error
    processor = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, ValueError) as error:
        raise ValueError(
            f"The vocabulary is no SentencePiece model; it begins with {model[:20]!r}."
        ) from error
    return processor


def plain(texts: Sequence[str]) -> list[str]:
    """Replaces bytes that aren't UTF-8, which SentencePiece does not take."""
    return [text if text.isascii() else _SURROGATES.sub("\ufffd", text) for text in texts]


def without_spaces(
    texts: Sequence[str], starts: np.ndarray, ends: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Takes the spaces from both ends of tokens; a token of spaces alone is empty, at its end.

    `starts` and `ends` are the places of tokens in their texts, int64 `[T]`; `lengths` are the
    numbers of tokens of the texts, `[N]`.
    """
    text = "".join(texts)
    begins = np.cumsum([0, *map(len, texts)])[:-1].repeat(lengths)
    is_space = np.zeros(len(text), bool)
    is_space[[match.start() for match in _SPACE.finditer(text)]] = True
    letters = np.append(np.flatnonzero(~is_space), len(text))
    starts, ends = starts + begins, ends + begins
    starts = np.minimum(letters[np.searchsorted(letters, starts)], ends)
    before = np.searchsorted(letters, ends) - 1
    ends = np.maximum(np.where(before < 0, 0, letters[before] + 1), starts)
    return starts - begins, ends - begins
