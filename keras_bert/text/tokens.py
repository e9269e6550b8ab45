"""Token ids of texts, and their packing into rows. N texts, T tokens, B rows, S sequence.

The code serves NumPy arrays and TensorFlow's tensors: `ops` is `numpy_ops` or `graph_ops`.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any, Self

import numpy as np

from keras_bert.text.base_tokenizer import Tokenizer

TRUNCATIONS = ("head", "tail", "head_tail", "longest_first")
_CHARACTERS = 16  # of a token: more than almost all have


@dataclasses.dataclass(frozen=True)
class Tokens:
    """Token ids of N texts, or of parts of texts, which may overlap."""

    values: Any  # int32, the ids of all texts, and at least one more
    starts: Any  # int64 [N], where each text starts in `values`
    lengths: Any  # int64 [N], the number of tokens of each
    ops: ModuleType

    @classmethod
    def of(
        cls,
        ids: Any,
        lengths: Any,
        ops: ModuleType,
    ) -> Self:
        """Makes the tokens of texts, int32 `[T]`, whose lengths are int64 `[N]`."""
        starts = ops.cumsum(lengths) - lengths
        return cls(_with_zero(ids, ops), starts, lengths, ops)

    def take(self, indices: Any) -> Self:
        """Takes texts by index, int64 `[B]`."""
        starts = self.ops.take(self.starts, indices)
        lengths = self.ops.take(self.lengths, indices)
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
        text, window = numbered(counts, ops)
        room = ops.take(room + 0 * counts, text)
        shift = window * ops.take(stride + 0 * counts, text)
        lengths = ops.minimum(ops.take(self.lengths, text) - shift, room)
        starts = ops.take(self.starts, text) + shift
        return dataclasses.replace(self, starts=starts, lengths=lengths), counts

    def central_windows(self, room: int, tokens: Any, texts: Any) -> tuple[Self, Any]:
        """Cuts texts into windows that overlap by half, and chooses one for each of some tokens.

        `tokens` are their places in `values`, and `texts` their texts, both int64 `[W]`. Returns
        the windows, and int64 `[W]`, that in which each token has the most context.
        """
        ops = self.ops
        stride = max(1, room // 2)
        windows, counts = self.windows(room, stride)
        place = tokens - ops.take(self.starts, texts)
        nearest = (place - room // 2 + stride // 2) // stride  # the window with this middle
        last = ops.take(counts, texts) - 1
        window = ops.minimum(ops.maximum(nearest, 0), last)
        first_window = ops.cumsum(counts) - counts
        return windows, ops.take(first_window, texts) + window


@dataclasses.dataclass(frozen=True)
class TextTokens:
    """Texts with the places of their tokens: characters of a str, or bytes of a string tensor."""

    texts: Any  # [N] strings: a list of str, or a tensor
    tokens: Tokens
    starts: Any  # int64 [T + 1], where each token starts in its text
    ends: Any  # int64 [T + 1]

    @classmethod
    def of(
        cls,
        texts: Any,
        ids: Any,
        starts: Any,
        ends: Any,
        lengths: Any,
        ops: Any,
    ) -> Self:
        """Makes it of values for each token, `[T]`, and the lengths of the texts, `[N]`."""
        tokens = Tokens.of(ids, lengths, ops)
        return cls(texts, tokens, _with_zero(starts, ops), _with_zero(ends, ops))


def _with_zero(values, ops):
    zero = ops.full([1], 0, values.dtype)
    return ops.concat([values, zero], axis=0)


def ids_of_texts(
    tokenizer: Tokenizer, texts: list[str], least: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tokenizes texts as `flat_ids` does, but of long ones perhaps only the `least` first tokens.

    They are cut at a space, and tokenized again if that left too few.
    """
    if least is None or not tokenizer.splits_at_spaces:
        return tokenizer.flat_ids(texts)
    heads = []
    for text in texts:
        end = text.find(" ", _CHARACTERS * least)
        heads.append(text if end < 0 else text[:end])
    ids, lengths = tokenizer.flat_ids(heads)
    is_cut = False
    for index in np.flatnonzero(lengths < least):
        is_cut = is_cut or heads[index] != texts[index]
        heads[index] = texts[index]
    if is_cut:
        return tokenizer.flat_ids(heads)
    return ids, lengths


def numbered(counts: Any, ops: ModuleType) -> tuple[Any, Any]:
    """Numbers the parts of wholes: for counts 2, 1 the wholes 0, 0, 1 and the parts 0, 1, 0."""
    whole = ops.repeat(ops.arange(ops.num_rows(counts)), counts)
    before = ops.take(ops.cumsum(counts) - counts, whole)
    return whole, ops.arange(ops.num_rows(whole)) - before


@dataclasses.dataclass(frozen=True)
class SegmentPacker:
    """Packs texts and pairs into rows, truncated and padded as `BertPreprocessor` describes.

    Pairs have as many [SEP] in their middle as the tokenizer's `num_separators`. Each text of a
    pair keeps at least its half of the room: in a room of 5 tokens, texts of 4 and 2 tokens keep 3
    and 2; texts of 4 and 4 also keep 3 and 2, with "longest_first" 2 and 3.
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
        ops = first.ops
        tokenizer = self.tokenizer
        if width is None:
            width = self.sequence_length
        column = ops.arange(width)[None]  # [1, S]
        num_first, num_second = self._num_kept(first, second)
        end = last = num_first + 1  # [B, 1], of [SEP]
        ids = self._ids(first, num_first, column - 1)
        ids = ops.where(column < end, ids, tokenizer.sep_token_id)
        if second is not None:
            begin = end + tokenizer.num_separators
            last = begin + num_second
            is_second = (column >= begin) & (column < last)
            second_ids = self._ids(second, num_second, column - begin)
            ids = ops.where(is_second, second_ids, ids)
        ids = ops.where(column == 0, tokenizer.cls_token_id, ids)
        is_token = column <= last
        has_segment = is_token & (column > end) & (tokenizer.num_separators == 1)
        return {
            "token_ids": ops.where(is_token, ids, tokenizer.pad_token_id),
            "segment_ids": ops.cast(has_segment, "int32"),
            "padding_mask": ops.cast(is_token, "int32"),
        }

    def lengths(self, first: Tokens, second: Tokens | None = None) -> Any:
        """Returns the number of tokens of each row, int64 `[B]`."""
        num_first, num_second = self._num_kept(first, second)
        lengths = 2 + num_first + num_second
        if second is not None:
            lengths += self.tokenizer.num_separators
        return lengths[:, 0]

    def _num_kept(self, first, second):
        """Returns how many tokens of the first and the second texts are kept, int64 `[B, 1]`."""
        ops = first.ops
        lengths = first.lengths[:, None]
        if second is None:
            return ops.minimum(lengths, self.sequence_length - 2), 0
        room = self.pair_room
        second_lengths = second.lengths[:, None]
        is_longer = 1
        if self.truncation == "longest_first":
            is_longer = ops.cast(lengths > second_lengths, "int64")
        most = ops.maximum(room - second_lengths, (room + is_longer) // 2)
        num_first = ops.minimum(lengths, most)
        return num_first, ops.minimum(second_lengths, room - num_first)

    def _ids(self, tokens, kept, place):
        """Returns the ids at places among the kept tokens `[B, 1]` of each text, int32 `[B, S]`."""
        ops = tokens.ops
        source = place
        if self.truncation in ("tail", "head_tail"):
            source = place + tokens.lengths[:, None] - kept
        if self.truncation == "head_tail":  # a quarter of the room for the beginning
            beginning = (kept + 3) // 4
            source = ops.where(place < beginning, place, source)
        is_kept = (place >= 0) & (place < kept)
        source = ops.where(is_kept, tokens.starts[:, None] + source, 0)
        return ops.take(tokens.values, source)
