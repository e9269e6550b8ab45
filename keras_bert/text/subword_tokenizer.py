"""Base class of the tokenizers of XLM-RoBERTa and RoBERTa. N texts, T tokens of all texts."""

import os
import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from keras_bert.text.base_tokenizer import Tokenizer

_SURROGATES = re.compile("[\ud800-\udfff]")  # of bytes that aren't UTF-8


class SubwordTokenizer(Tokenizer):
    """Tokenizer of a package that cuts whole texts, of models with pairs `<s> A </s> </s> B </s>`.

    A subclass has `_cut`, which turns texts into a list of ids for each, with a list of the
    `(start, end)` of its tokens if they are wanted; and `_spaces`, a regular expression of the
    characters at which no token begins or ends.
    """

    num_separators = 2
    _spaces: str

    @classmethod
    def from_preset(cls, source: str | os.PathLike) -> Self:
        """Loads the tokenizer of any source that `BertTask.from_preset` accepts.

        Raises:
            ValueError: if the source is unknown or has another tokenizer.
        """
        from keras_bert.presets.preprocessors import load_tokenizer

        return load_tokenizer(cls, source)

    def flat_ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows, _ = self._cut(_plain(texts), False)
        return self._flat(rows)

    def flat_ids_with_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        texts = _plain(texts)
        rows, offsets = self._cut(texts, True)
        ids, lengths = self._flat(rows)
        spans = np.array([span for row in offsets for span in row], "int64").reshape(-1, 2)
        return ids, *_without_spaces(texts, *spans.T, lengths, self._spaces), lengths

    def _flat(self, rows):
        ids = np.concatenate([*(np.asarray(row, "int32") for row in rows), np.zeros(0, "int32")])
        return self._own(ids), np.fromiter(map(len, rows), "int64", len(rows))

    def _own(self, ids):
        return ids

    def settings(self) -> dict[str, Any]:
        return {"family": self.family}


def _plain(texts):
    """Replaces bytes that aren't UTF-8 with a character that no vocabulary has."""
    return [text if text.isascii() else _SURROGATES.sub("\ue000", text) for text in texts]


def _without_spaces(texts, starts, ends, lengths, spaces):
    """Takes the spaces from both ends of tokens; a token of spaces alone is empty, at its end."""
    text = "".join(texts)
    begins = np.cumsum([0, *map(len, texts)])[:-1].repeat(lengths)
    is_space = np.zeros(len(text), bool)
    is_space[[match.start() for match in re.finditer(spaces, text)]] = True
    letters = np.append(np.flatnonzero(~is_space), len(text))
    starts, ends = starts + begins, ends + begins
    starts = np.minimum(letters[np.searchsorted(letters, starts)], ends)
    before = np.searchsorted(letters, ends) - 1
    ends = np.maximum(np.where(before < 0, 0, letters[before] + 1), starts)
    return starts - begins, ends - begins
