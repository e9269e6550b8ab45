"""Texts as rows for the model. n texts, N rows, B rows of a batch."""

import copy
import dataclasses
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Self

import keras
import numpy as np

from keras_bert.messages import logger
from keras_bert.preprocessing.batches import Batches, for_sequences, row_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import SegmentPacker, TextTokens, Tokens, numbered

LONGEST = Batching(pad_to="longest")
_MOST_CUT = 0.1  # of rows, without a warning


class Rows:
    """Rows that a preprocessor's `read` makes of raw examples, such as `TextRows`."""

    num_sequences: Any
    """The number of sequences in each row."""

    sequence_length: int
    """The most tokens of a sequence."""

    def num_tokens(self) -> np.ndarray:
        """Returns the number of tokens of each row, int64 `[N]`."""
        raise NotImplementedError

    def warn_if_cut(self, preprocessor: Any) -> None:
        """Warns if many rows are truncated, once for a preprocessor, whatever it reads next."""

    def batch(self, rows: Any, batching: Batching) -> tuple:
        """Makes `(inputs,)`, with labels, or with labels and weights, of rows by number, `[B]`."""
        raise NotImplementedError

    def batches(self, batching: Batching) -> Batches:
        """Makes batches of all rows; see `BertPreprocessor.batches`."""
        batching = for_sequences(self, batching.for_rows(self.sequence_length))
        return row_batches(self.num_tokens(), lambda part: self.batch(part, batching), batching)

    def pooled(self, outputs: Any) -> Any:
        """Pools outputs with one row for each of these into one row per example."""
        return outputs


@dataclasses.dataclass
class TextRows(Rows):
    """Rows of one sequence each: a text, a pair of texts, or a window of a long text.

    Rows of other kinds of examples are subclasses.
    """

    packer: SegmentPacker
    columns: tuple[Tokens, ...]  # one or two `[N]`, the texts of each row
    extra_inputs: dict[str, Any] = dataclasses.field(default_factory=dict)  # arrays `[N, ...]`
    targets: tuple = ()  # labels and weights, if any: arrays `[N, ...]` or dicts of them

    num_sequences = 1

    @property
    def sequence_length(self) -> int:
        return self.packer.sequence_length

    @property
    def ops(self) -> ModuleType:
        """`numpy_ops` or `graph_ops`."""
        return self.columns[0].ops

    def num_tokens(self) -> np.ndarray:
        return self.packer.lengths(*self.columns)

    def warn_if_cut(self, preprocessor):
        if preprocessor.warned_of_cut:
            return
        whole = copy.copy(self)
        whole.packer = dataclasses.replace(self.packer, sequence_length=2**31)
        lengths = whole.num_tokens()
        num_cut = np.sum(lengths > self.sequence_length)
        if num_cut <= _MOST_CUT * len(lengths):
            return
        preprocessor.warned_of_cut = True
        can_window = "window_stride" in preprocessor.arguments() and len(self.columns) == 1
        logger.warning(
            "%d of %d examples are cut to sequence_length=%d; the longest has at least %d tokens. "
            "To read more, set model.preprocessor = model.preprocessor.like(model.preprocessor, "
            "sequence_length=...), up to the backbone's max_sequence_length%s.",
            num_cut,
            len(lengths),
            self.sequence_length,
            lengths.max(),
            ", or window_stride=..., which reads all of a text" if can_window else "",
        )

    def batch(self, rows: Any, batching: Batching) -> tuple:
        inputs = self.inputs(rows, batching)
        inputs |= self.take(self.extra_inputs, rows)
        targets = self.take(self.targets, rows)
        return inputs, *targets

    def take(self, values: Any, rows: Any) -> Any:
        """Takes rows by number, `[B]`, from `extra_inputs` or `targets`."""
        return keras.tree.map_structure(lambda array: self.ops.take(array, rows), values)

    def inputs(self, rows: Any, batching: Batching) -> dict[str, Any]:
        """Makes the model's inputs, a dict of `[B, ...]`, for rows by number."""
        texts = [column.take(rows) for column in self.columns]
        return self.packed(texts, batching)

    def packed(self, texts: Sequence[Tokens], batching: Batching) -> dict[str, Any]:
        """Packs one or two texts a row to the width of a `Batching`."""
        lengths = self.packer.lengths(*texts)
        width = batching.width(lengths, self.sequence_length, self.ops)
        return self.packer(*texts, width=width)

    def as_batch(self, batching: Batching = LONGEST) -> tuple:
        """Makes one batch of all rows."""
        num_rows = self.ops.num_rows(self.columns[0].lengths)
        return self.batch(self.ops.arange(num_rows), batching)


@dataclasses.dataclass(kw_only=True)
class WindowRows(TextRows):
    """Windows of texts: each has its text's extra inputs, labels and weight, and a share of it."""

    text: Any  # int64 `[N]`, the text of each window
    counts: Any  # int64 `[n]`, the number of windows of each text

    @classmethod
    def of(cls, rows: TextRows, window_stride: int) -> Self:
        """Cuts the texts of `TextRows` into overlapping windows."""
        if len(rows.columns) > 1:
            raise ValueError("Windows need single texts; window_stride=None truncates pairs.")
        [texts] = rows.columns
        ops = texts.ops
        windows, counts = texts.windows(rows.packer.sequence_length - 2, window_stride)
        text, _ = numbered(counts, ops)
        extra_inputs = rows.take(rows.extra_inputs, text)
        targets = rows.take(rows.targets, text)
        if targets:  # a text counts once, however many windows it has
            num_windows = ops.take(counts, text)
            extra_inputs["window_share"] = 1 / ops.cast(num_windows, "float32")
        return cls(rows.packer, (windows,), extra_inputs, targets, text=text, counts=counts)

    def pooled(self, outputs: Any) -> Any:
        """Pools the logits of windows into logits of texts, `[n, C]`."""
        ops = ops_of(outputs)
        return ops.segment_mean(outputs, self.text, ops.num_rows(self.counts))


@dataclasses.dataclass(kw_only=True)
class PairRows(TextRows):
    """Rows of D pairs each: a query with each of its documents, or a question with its choices.

    The columns are the first texts, `[N]`, and the second ones of all rows, `[N x D]`. Inputs are
    `[B, D, S]`.
    """

    num_sequences: Any  # D
    is_there: Any = None  # bool `[N, D]`, False for a missing pair, whose inputs are 0
    texts: list[list[str]] | None = None  # the second texts of each row, if answers name them

    def num_tokens(self) -> np.ndarray:
        rows = np.arange(len(self.columns[0].lengths))
        lengths = self.packer.lengths(*self._pairs(rows))
        lengths = lengths.reshape(-1, self.num_sequences)  # [N, D]
        return lengths.max(axis=1)

    def inputs(self, rows: Any, batching: Batching) -> dict[str, Any]:
        ops = self.ops
        inputs = self.packed(self._pairs(rows), batching)
        token_ids = inputs["token_ids"]  # [B x D, S]
        width = token_ids.shape[-1] or ops.num_columns(token_ids)
        shape = [ops.num_rows(rows), self.num_sequences, width]
        for name, values in inputs.items():
            values = ops.reshape(values, shape)
            if self.is_there is not None:
                is_there = ops.take(self.is_there, rows)
                values *= ops.cast(is_there, "int32")[..., None]
            inputs[name] = values
        return inputs

    def _pairs(self, rows):
        """Returns the first and the second texts of the pairs of rows by number, `[B x D]`."""
        ops = self.ops
        first, second = self.columns
        row_of_pair = ops.repeat(rows, self.num_sequences)  # [B x D]
        pairs = rows[:, None] * self.num_sequences + ops.arange(self.num_sequences)  # [B, D]
        pairs = ops.reshape(pairs, [-1])
        return first.take(row_of_pair), second.take(pairs)


def located(preprocessor: Any, texts: Any) -> TextTokens:
    """Tokenizes n texts, a list or a tensor, with the place of each token, without a prompt."""
    if not isinstance(texts, list):
        from keras_bert.graph.tokenizer import graph_text_tokens

        return graph_text_tokens(preprocessor, texts)
    return TextTokens.of(texts, *preprocessor.tokenizer.flat_ids_with_offsets(texts), numpy_ops)


def row_by_row(columns: Sequence) -> Any:
    """Joins D columns of N texts, lists or tensors, to `[N x D]`: the texts of row 0, of row 1."""
    if isinstance(columns[0], list):
        texts = []
        for row in zip(*columns, strict=True):
            texts.extend(row)
        return texts
    import tensorflow as tf

    return tf.reshape(tf.stack(columns, axis=1), [-1])


def scattered(
    indices: Sequence[np.ndarray], values: np.ndarray, shape: Sequence[int]
) -> np.ndarray:
    """Makes an array of zeros with values at the indices, which are given for each axis."""
    array = np.zeros((*shape, *values.shape[1:]), values.dtype)
    array[tuple(indices)] = values
    return array


def ops_of(outputs: Any) -> ModuleType:
    """Returns the functions for a model's outputs, arrays or tensors: one, or a dict of them."""
    if isinstance(keras.tree.flatten(outputs)[0], np.ndarray):
        return numpy_ops
    from keras_bert.graph import graph_ops

    return graph_ops
