"""Batches from a `tf.data.Dataset` of texts, in the TensorFlow graph."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.graph import graph_ops
from keras_bert.graph.datasets import map_batches
from keras_bert.preprocessing.batches import alone
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.checked_numbers import with_finite_check, with_target_checks
from keras_bert.preprocessing.embedding_rows import TextColumns
from keras_bert.preprocessing.forms import NO_EXAMPLES
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.preprocessing.texts import split_inputs

_as_written = tf.autograph.experimental.do_not_convert  # AutoGraph takes time


def stream_batches(
    preprocessor: Any,
    dataset: tf.data.Dataset,
    batching: Batching,
    with_labels: bool,
    rows_of: Callable[[tuple, dict, tuple], TextRows] | None = None,
) -> tf.data.Dataset:
    """Reads texts batch by batch, in the graph; see `BertPreprocessor.batches`.

    `rows_of` makes rows of any number of columns of texts, extra inputs, and labels with weights;
    by default, the preprocessor does.
    """
    batching.check_unsorted("Texts of a dataset")
    if batching.packed:
        raise ValueError("Texts of a dataset can't be packed: give them in memory.")
    batching = batching.for_rows(preprocessor.sequence_length)
    size, drop = batching.batch_size, batching.drop_remainder
    dataset = text_batches(dataset, size, with_labels, preprocessor.max_texts)
    if drop:
        dataset = dataset.rebatch(size, drop_remainder=True)

    def read(columns, extra, rest, batching=batching):
        rest = with_target_checks(rest) if rest and with_labels else ()
        rows = (rows_of or preprocessor.stream_rows)(columns, with_finite_check(extra), rest)
        return rows.as_batch(batching)

    if not preprocessor.cuts_windows:
        return map_batches(dataset, lambda *batch: alone(read(*batch)))
    whole = dataclasses.replace(batching, pad_to="full")
    windows = dataset.map(_as_written(functools.partial(read, batching=whole)), tf.data.AUTOTUNE)
    windows = windows.unbatch().batch(size, drop_remainder=drop)
    return map_batches(windows, lambda x, *rest: alone((trimmed(x, batching), *rest)))


def stream_columns(
    preprocessor: Any, dataset: tf.data.Dataset, batching: Batching
) -> tf.data.Dataset:
    """Makes training batches of a dataset of `(anchor, positive, ...)` or `((a, b), score)`."""
    spec = dataset.element_spec
    are_texts = isinstance(spec, tuple) and all(map(is_strings, spec))

    def rows_of(columns, extra, scores):
        is_right = len(columns) > 1 and not extra and len(scores) < 2
        if not is_right or any(each.dtype.is_complex for each in scores):
            raise ValueError(
                "A dataset that trains an embedder must yield (anchor, positive, negative, ...) or "
                f"((text, other), score), batched or not; got {spec}. Classes must be in memory."
            )
        own = preprocessor.of_columns(len(columns), scores[0] if scores else None)
        tokens = tuple(each.tokenized(x) for each, x in zip(own, columns, strict=True))
        scores = tuple(tf.cast(each, "float32") for each in scores)
        numbers = None
        if not scores:
            every = tf.unique(tf.concat(columns, axis=0)).idx
            numbers = tf.transpose(tf.reshape(every, [len(columns), -1]))
        return TextColumns(preprocessor.packer, tokens, targets=scores, numbers=numbers)

    return stream_batches(preprocessor, dataset, batching, not are_texts, rows_of)


def text_batches(
    dataset: tf.data.Dataset, batch_size: int, with_labels: bool, most: float = 2
) -> tf.data.Dataset:
    """Converts a dataset of texts to batches of `((columns), extra inputs, rest)`.

    Columns are string tensors `[B]`, the rest labels and weights. The dataset yields texts, `(text,
    label)` or `(text, label, weight)`, batched or not. A text is a string, a tuple of up to `most`,
    or a dict with either as `text`, and extra inputs. Batches of pairs may also be `[B, 2]`. With
    labels, two bare strings are a text and its label; without, a pair.
    """
    spec = dataset.element_spec
    are_texts = isinstance(spec, tuple) and not with_labels and all(map(is_strings, spec))

    def in_order(x, *rest):
        if are_texts:
            x, rest = (x, *rest), ()
        text, extra = split_inputs(x)
        return (text if isinstance(text, tuple) else (text,)), extra, rest

    dataset = dataset.map(in_order)
    columns, extra, rest = dataset.element_spec
    ranks = [column.shape.rank for column in columns if is_strings(column)]
    is_alike = len(ranks) == len(columns) <= most and len(set(ranks)) == 1
    is_batch = ranks[:1] == [1] or (ranks == [2] and 1 <= (columns[0].shape[1] or 0) <= most)
    is_batch = is_batch and not any(part.shape.rank == 0 for part in tf.nest.flatten(rest))
    is_text = is_alike and (is_batch or ranks[0] == 0)
    if not is_text or len(rest) > 2 or any(map(is_strings, tf.nest.flatten(rest[1:]))):
        raise ValueError(
            "A dataset of text must yield a text, (text, label) or (text, label, weight), batched "
            f"or not, where a text is a string or a pair (string, string); got {spec}."
        )
    if not is_batch:
        dataset = dataset.batch(batch_size)

    def as_columns(columns, extra, rest):
        if columns[0].shape.rank == 2:  # [B, number of texts]
            columns = tuple(tf.unstack(columns[0], axis=1))
        return columns, extra, rest

    return dataset.map(as_columns)


def arrays_of(dataset: tf.data.Dataset, are_columns: bool = False) -> tuple[Any, Any, Any]:
    """Reads a dataset as arrays `(x, y, sample_weight)`, None where it has none.

    With `are_columns`, several bare strings are the texts of an example, as in `stream_columns`.
    """
    elements = list(dataset.as_numpy_iterator())
    if not elements:
        raise ValueError(NO_EXAMPLES)
    elements = [e if isinstance(e, tuple) else (e,) for e in elements]
    is_one = any(isinstance(leaf, bytes) for leaf in tf.nest.flatten(elements[0][0]))
    join = np.stack if is_one else np.concatenate
    joined = tf.nest.map_structure(lambda *leaves: join(leaves), *elements)
    spec = dataset.element_spec
    if are_columns and isinstance(spec, tuple) and all(map(is_strings, spec)):
        return joined, None, None
    return (*joined, None, None)[:3]


def is_strings(spec: object) -> bool:
    """Returns whether a spec describes a string tensor."""
    return isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string


def trimmed(inputs: dict[str, tf.Tensor], batching: Batching) -> dict[str, tf.Tensor]:
    """Cuts full rows, a dict of `[B, S]`, to the width of a `Batching`."""
    lengths = tf.reduce_sum(tf.cast(inputs["padding_mask"], tf.int64), axis=-1)
    width = batching.width(lengths, inputs["padding_mask"].shape[-1], graph_ops)
    names = ("token_ids", "segment_ids", "padding_mask")  # others have no axis of tokens
    return {n: values[:, :width] if n in names else values for n, values in inputs.items()}
