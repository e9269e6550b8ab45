"""Texts as rows for the model, and the relevance of documents. n texts, N rows, B of a batch."""

import dataclasses
from types import ModuleType
from typing import Any, Protocol

import keras
import numpy as np

from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.raw import Labels, number_array
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import SegmentPacker, Tokens, numbered

LONGEST = Batching(pad_to="longest")
_OUTSIDE = (
    "Binary cross-entropy takes a relevance from 0 to 1: divide grades by the highest. For a "
    "teacher's scores, compile with loss='mean_squared_error'; for the margins of (query, "
    "positive, negative), with loss=MarginMeanSquaredError()"
)


class Rows(Protocol):
    """Rows that a preprocessor's `read` makes of raw examples, such as `TextRows`."""

    def num_tokens(self) -> np.ndarray:
        """Returns the number of tokens of each row, int64 `[N]`."""

    def batch(self, rows: Any, batching: Batching) -> tuple:
        """Makes `(inputs,)`, with labels, or with labels and weights, of rows by number, `[B]`."""


@dataclasses.dataclass
class TextRows:
    """Rows of texts: one for each text or pair, or several windows of a long text.

    Attributes:
        packer: a `SegmentPacker`.
        columns: one or two `Tokens` `[N]`.
        text: int64 `[N]`, the text of each window; None if each text is one row.
        counts: int64 `[n]`, the number of windows of each text; None if each text is one row.
        extra_inputs: a dict of arrays `[n, ...]`.
        targets: a tuple of labels and weights, if any: arrays `[n, ...]` or dicts of them.
    """

    packer: SegmentPacker
    columns: tuple[Tokens, ...]
    text: Any = None
    counts: Any = None
    extra_inputs: dict[str, Any] = dataclasses.field(default_factory=dict)
    targets: tuple = ()

    def num_tokens(self) -> np.ndarray:
        return self.packer.lengths(*self.columns)

    def inputs(self, rows: Any, batching: Batching) -> dict[str, Any]:
        """Makes the model's inputs, a dict of `[B, ...]`, for rows by number."""
        columns = tuple(column.take(rows) for column in self.columns)
        return packed([columns], self.packer, batching)[0]

    def batch(self, rows: Any, batching: Batching) -> tuple:
        ops = self.columns[0].ops
        inputs = self.inputs(rows, batching)
        texts = rows if self.text is None else ops.take(self.text, rows)
        own = keras.tree.map_structure(
            lambda values: ops.take(values, texts), (self.extra_inputs, *self.targets)
        )
        return ({**inputs, **own[0]}, *own[1:])


@dataclasses.dataclass
class DocumentRows(TextRows):
    """Queries, each with the same number of documents, as `[CLS] query [SEP] document [SEP]`.

    The columns are the queries and then D columns of documents. Inputs are `[B, D, S]`.
    """

    @property
    def num_sequences(self) -> int:
        """D."""
        return len(self.columns) - 1

    def num_tokens(self) -> np.ndarray:
        queries, *documents = self.columns
        lengths = [self.packer.lengths(queries, column) for column in documents]
        return np.max(lengths, axis=0)  # of each example's longest pair

    def inputs(self, rows: Any, batching: Batching) -> dict[str, Any]:
        queries, *documents = (column.take(rows) for column in self.columns)
        pairs = packed([(queries, column) for column in documents], self.packer, batching)
        return {name: queries.ops.stack([p[name] for p in pairs], axis=1) for name in pairs[0]}


def packed(
    segments: list[tuple[Tokens, ...]], packer: SegmentPacker, batching: Batching
) -> list[dict[str, Any]]:
    """Packs several batches of one or two texts a row to one width, that of the `batching`."""
    ops = segments[0][0].ops
    lengths = ops.concat([packer.lengths(*each) for each in segments], axis=0)
    width = batching.width(lengths, packer.sequence_length, ops)
    return [packer(*each, width=width) for each in segments]


def windowed(rows: TextRows, window_stride: int) -> TextRows:
    """Cuts the texts of `TextRows` into overlapping windows."""
    if len(rows.columns) > 1:
        raise ValueError("Windows need single texts; window_stride=None truncates pairs.")
    [texts] = rows.columns
    windows, counts = texts.windows(rows.packer.sequence_length - 2, window_stride)
    text, _ = numbered(counts, texts.ops)
    return dataclasses.replace(rows, columns=(windows,), text=text, counts=counts)


def ops_of(outputs: Any) -> ModuleType:
    """Returns the functions for a model's outputs, arrays or tensors: one, or a dict of them."""
    if isinstance(keras.tree.flatten(outputs)[0], np.ndarray):
        return numpy_ops
    from keras_bert.graph import graph_ops

    return graph_ops


def relevance_targets(labels: Labels) -> np.ndarray:
    """Converts relevance, a teacher's scores or margins, `[n]` or `[n, D]`, to float32."""
    expected = "a number for each example"
    return number_array("Relevance", labels, expected, lambda shape: len(shape) in (1, 2))


def check_relevance(labels: Labels) -> None:
    """Raises a ValueError if a relevance is outside 0 to 1, for binary cross-entropy."""
    targets = relevance_targets(labels)
    outside = np.argwhere((targets < 0) | (targets > 1))
    if outside.size:
        value = targets[tuple(outside[0])]
        raise ValueError(f"{_OUTSIDE}. That of example {outside[0][0]} is {value:g}.")


def with_relevance_check(dataset: Any) -> Any:
    """Makes a `tf.data.Dataset` of `(inputs, relevance)` raise an error outside 0 to 1."""
    from keras_bert.graph.datasets import asserted, map_labels

    def check(_, labels):
        return asserted(labels, (labels >= 0) & (labels <= 1), _OUTSIDE + ". Others:")

    return map_labels(dataset, check)
