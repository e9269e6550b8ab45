"""Token ids of texts, and their packing into rows. N texts, T tokens, B rows, S sequence.

The code serves NumPy arrays and TensorFlow's tensors: `ops` is `numpy_ops` or `graph_ops`.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any, Self

import numpy as np

from keras_bert.text.base_tokenizer import Tokenizer

TRUNCATIONS = ("head", "tail", "head_tail")
_CHARACTERS = 16  # of a token: more than almost all have


@dataclasses.dataclass(frozen=True)
class Tokens:
    """Token ids of N texts, or of parts of texts, which may overlap."""

    values: Any  # int32, the ids of all texts, and at least one more
    starts: Any  # int64 [N], where each text starts in `values`
    lengths: Any  # int64 [N], the number of tokens of each
    ops: ModuleType

    @classmethod
    def of(cls, ids: Any, lengths: Any, ops: ModuleType) -> Self:
        """Makes the tokens of texts, int32 `[T]`, whose lengths are int64 `[N]`."""
        values = ops.concat([ids, ops.full([1], 0, "int32")], axis=0)
        return cls(values, ops.cumsum(lengths) - lengths, lengths, ops)

    def take(self, numbers: Any) -> Self:
        """Takes texts by number, int64 `[B]`."""
        starts, lengths = (self.ops.take(x, numbers) for x in (self.starts, self.lengths))
        return dataclasses.replace(self, starts=starts, lengths=lengths)

    def shortened(self, most: int) -> Self:
        """Cuts texts to their first tokens."""
        return dataclasses.replace(self, lengths=self.ops.minimum(self.lengths, most))

    def windows(self, room: Any, stride: Any) -> tuple[Self, Any]:
        """Cuts texts into overlapping windows; returns them, and int64 `[N]`, their numbers.

        The room and the stride are ints, or int64 `[N]`, one for each text.

        They start `stride` tokens apart, and the last one ends with the text. A text that fits, or
        is empty, is one window. With a room of 4 and a stride of 2, seven tokens are the windows
        0-3, 2-5 and 4-6.
        """
        ops = self.ops
        counts = 1 + ops.maximum(-((room - self.lengths) // stride), 0)  # [N], rounded up
        text, number = numbered(counts, ops)
        room, stride = (ops.take(each + 0 * counts, text) for each in (room, stride))
        shift = number * stride
        lengths = ops.minimum(ops.take(self.lengths, text) - shift, room)
        starts = ops.take(self.starts, text) + shift
        return dataclasses.replace(self, starts=starts, lengths=lengths), counts


@dataclasses.dataclass(frozen=True)
class TextTokens:
    """Texts with the places of their tokens: characters of a str, or bytes of a string tensor."""

    texts: Any  # [N] strings: a list of str, or a tensor
    tokens: Tokens
    starts: Any  # int64 [T + 1], where each token starts in its text
    ends: Any  # int64 [T + 1]

    @classmethod
    def of(cls, texts: Any, ids: Any, starts: Any, ends: Any, lengths: Any, ops: Any) -> Self:
        """Makes it of values for each token, `[T]`, and the lengths of the texts, `[N]`."""
        zero = ops.full([1], 0, "int64")
        starts, ends = (ops.concat([x, zero], axis=0) for x in (starts, ends))
        return cls(texts, Tokens.of(ids, lengths, ops), starts, ends)


def ids_of_texts(
    tokenizer: Tokenizer, texts: list[str], least: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tokenizes texts as `flat_ids` does, but of long ones perhaps only the `least` first tokens.

    They are cut at a space, and tokenized again if that left too few.
    """
    if least is None or not tokenizer.splits_at_spaces:
        return tokenizer.flat_ids(texts)
    most = _CHARACTERS * least
    heads = [text[:end] if (end := text.find(" ", most)) > 0 else text for text in texts]
    ids, lengths = tokenizer.flat_ids(heads)
    parts = zip(texts, heads, lengths, strict=True)
    whole = [text if length < least else head for text, head, length in parts]
    return (ids, lengths) if whole == heads else tokenizer.flat_ids(whole)


def numbered(counts: Any, ops: ModuleType) -> tuple[Any, Any]:
    """Numbers the parts of wholes: for counts 2, 1 the wholes 0, 0, 1 and the parts 0, 1, 0."""
    whole = ops.repeat(ops.arange(ops.size(counts)), counts)
    before = ops.take(ops.cumsum(counts) - counts, whole)
    return whole, ops.arange(ops.size(whole)) - before


@dataclasses.dataclass(frozen=True)
class SegmentPacker:
    """Packs texts and pairs into rows, truncated and padded as `BertPreprocessor` describes.

    Pairs have as many [SEP] in their middle as the tokenizer's `num_separators`. Each text of a
    pair keeps at least its half of the room: in a room of 5 tokens, texts of 4 and 2 tokens keep 3
    and 2; texts of 4 and 4 also keep 3 and 2.
    """

    tokenizer: Tokenizer
    sequence_length: int
    truncation: str

    @property
    def pair_room(self) -> int:
        """The number of tokens of a pair's texts that fit into a row."""
        return self.sequence_length - 2 - self.tokenizer.num_separators

    def __call__(
        self, first: Tokens, second: Tokens | None = None, width: Any = None
    ) -> dict[str, Any]:
        """Makes rows of `width` tokens, S, or `sequence_length`, of texts `[B]`.

        Returns a dict of `token_ids`, `segment_ids` and `padding_mask`, each int32 `[B, S]`.
        """
        ops, special = first.ops, self.tokenizer
        column = ops.arange(self.sequence_length if width is None else width)[None]  # [1, S]
        kept, *kept_second = (x[:, None] for x in self._kept(first, second))  # [B, 1]
        last = end = kept + 1  # [SEP]
        ids = ops.where(column < end, self._ids(first, kept, column - 1), special.sep_token_id)
        if second is not None:
            begin = end + special.num_separators
            last = begin + kept_second[0]
            own = self._ids(second, kept_second[0], column - begin)
            ids = ops.where((column >= begin) & (column < last), own, ids)
        ids = ops.where(column == 0, special.cls_token_id, ids)
        is_token, has_segments = column <= last, special.num_separators == 1
        return {
            "token_ids": ops.where(is_token, ids, special.pad_token_id),
            "segment_ids": ops.cast(is_token & (column > end) & has_segments, "int32"),
            "padding_mask": ops.cast(is_token, "int32"),
        }

    def lengths(self, first: Tokens, second: Tokens | None = None) -> Any:
        """Returns the number of tokens of each row, int64 `[B]`."""
        kept = self._kept(first, second)
        separators = (len(kept) - 1) * self.tokenizer.num_separators
        return 2 + separators + sum(kept[1:], kept[0])

    def _kept(self, first, second):
        """Returns how many tokens of each text are kept, int64 `[B]` for each text of a row."""
        ops = first.ops
        if second is None:
            return (ops.minimum(first.lengths, self.sequence_length - 2),)
        room = self.pair_room
        kept = ops.minimum(first.lengths, ops.maximum(room - second.lengths, (room + 1) // 2))
        return kept, ops.minimum(second.lengths, ops.maximum(room - kept, room // 2))

    def _ids(self, tokens, kept, place):
        """Returns the ids at places among the kept tokens of each text, int32 `[B, S]`."""
        lengths, source = tokens.lengths[:, None], place
        if self.truncation == "tail":
            source = place + lengths - kept
        elif self.truncation == "head_tail":  # a quarter of the room for the beginning
            beginning = (kept + 3) // 4
            source = tokens.ops.where(place < beginning, place, place + lengths - kept)
        is_there = (place >= 0) & (place < kept)
        return tokens.ops.take(
            tokens.values, tokens.ops.where(is_there, tokens.starts[:, None] + source, 0)
        )
