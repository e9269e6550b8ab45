"""Batches from a `tf.data.Dataset` of texts, in the TensorFlow graph."""

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_bert.graph import graph_ops
from keras_bert.graph.datasets import map_batches
from keras_bert.preprocessing.batches import alone
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.checked_numbers import with_finite_check, with_target_checks
from keras_bert.preprocessing.embedding_rows import TextColumns
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.preprocessing.texts import split_inputs


def stream_batches(
    preprocessor: Any,
    dataset: tf.data.Dataset,
    batching: Batching,
    with_labels: bool,
    rows_of: Callable[[tuple, dict, tuple], TextRows] | None = None,
) -> tf.data.Dataset:
    """Reads texts batch by batch, in the graph; see `BertPreprocessor.batches`.

    `rows_of` makes rows of columns of texts, extra inputs, and labels with weights; by default, it
    is the preprocessor's `stream_rows`.
    """
    batching.check_unsorted("Texts of a dataset")
    batching = batching.for_rows(preprocessor.sequence_length)
    if rows_of is None:
        rows_of = preprocessor.stream_rows
    dataset = text_batches(dataset, batching.batch_size, with_labels, preprocessor.max_texts)
    if batching.drop_remainder:
        dataset = dataset.rebatch(batching.batch_size, drop_remainder=True)

    def read(columns, extra_inputs, targets):
        targets = with_target_checks(targets) if targets and with_labels else ()
        return rows_of(columns, with_finite_check(extra_inputs), targets)

    if preprocessor.cuts_windows:
        return _window_batches(dataset, read, batching)

    def make(*texts):
        rows = read(*texts)
        return alone(rows.as_batch(batching))

    return map_batches(dataset, make)


def _window_batches(dataset, read, batching):
    """Reads batches of texts as windows, and makes batches of windows."""
    full = dataclasses.replace(batching, pad_to="full")

    @tf.autograph.experimental.do_not_convert  # AutoGraph takes time
    def windows_of(*texts):
        return read(*texts).as_batch(full)

    windows = dataset.map(windows_of, tf.data.AUTOTUNE).unbatch()
    windows = windows.batch(batching.batch_size, drop_remainder=batching.drop_remainder)

    def trimmed(inputs, *targets):
        mask = inputs["padding_mask"]
        lengths = tf.reduce_sum(tf.cast(mask, tf.int64), axis=-1)
        width = batching.width(lengths, mask.shape[-1], graph_ops)
        for name in ("token_ids", "segment_ids", "padding_mask"):  # others have no axis of tokens
            inputs[name] = inputs[name][:, :width]
        return alone((inputs, *targets))

    return map_batches(windows, trimmed)


def stream_columns(
    preprocessor: Any, dataset: tf.data.Dataset, batching: Batching
) -> tf.data.Dataset:
    """Makes training batches of a dataset of `(anchor, positive, ...)` or `((a, b), score)`."""
    spec = dataset.element_spec

    def rows_of(columns, extra_inputs, scores):
        are_tensors = all(map(tf.is_tensor, scores))
        if len(columns) < 2 or extra_inputs or len(scores) > 1 or not are_tensors:
            raise ValueError(
                "A dataset that trains an embedder must yield (anchor, positive, negative, ...) or "
                f"((text, other), score), batched or not; got {spec}. Classes must be in memory."
            )
        numbers = None if scores else _text_numbers(columns)
        scores = tuple(tf.cast(score, "float32") for score in scores)
        readers = preprocessor.of_columns(len(columns), scores[0] if scores else None)
        tokens = tuple(reader.tokenized(x) for reader, x in zip(readers, columns, strict=True))
        return TextColumns(preprocessor.packer, tokens, targets=scores, numbers=numbers)

    return stream_batches(preprocessor, dataset, batching, not are_strings(spec), rows_of)


def _text_numbers(columns):
    """Numbers the texts of k columns, `[B]` each: equal texts have equal numbers, `[B, k]`."""
    texts = tf.concat(columns, axis=0)  # [k x B]
    numbers = tf.unique(texts).idx
    return tf.transpose(tf.reshape(numbers, [len(columns), -1]))


def text_batches(
    dataset: tf.data.Dataset, batch_size: int, with_labels: bool, most: float = 2
) -> tf.data.Dataset:
    """Converts a dataset of texts to batches of `((columns), extra inputs, (labels, weights))`.

    The dataset yields texts, `(text, label)` or `(text, label, weight)`, batched or not. A text is
    a string, a tuple of up to `most`, or a dict with either as `text`, and extra inputs. Batches of
    pairs may also be `[B, 2]`. With labels, two bare strings are a text and its label; without, a
    pair. Columns are string tensors `[B]`; labels and weights are left out if there are none.
    """
    spec = dataset.element_spec
    are_columns = not with_labels and are_strings(spec)

    def in_order(x, *targets):
        if are_columns:
            x = (x, *targets)
            targets = ()
        text, extra_inputs = split_inputs(x)
        columns = text if isinstance(text, tuple) else (text,)
        return columns, extra_inputs, targets

    def unstacked(columns, *rest):
        if columns[0].shape.rank == 2:  # [B, number of texts]
            columns = tuple(tf.unstack(columns[0], axis=1))
        return columns, *rest

    dataset = dataset.map(in_order)
    columns, _, targets = dataset.element_spec
    shapes = [column.shape for column in columns if _is_string(column)]
    ranks = [shape.rank for shape in shapes]
    is_table = ranks == [2] and 1 <= (shapes[0][1] or 0) <= most
    is_batch = is_table or set(ranks) == {1}
    are_examples = set(ranks) == {0}
    are_texts = len(ranks) == len(columns) <= most and (is_batch or are_examples)
    has_wrong_weights = any(map(_is_string, tf.nest.flatten(targets[1:])))
    has_scalars = any(target.shape.rank == 0 for target in tf.nest.flatten(targets))
    is_array = is_batch and has_scalars  # of the texts of one example
    if not are_texts or is_array or has_wrong_weights or len(targets) > 2:
        raise ValueError(
            "A dataset of text must yield a text, (text, label) or (text, label, weight), batched "
            f"or not, where a text is a string or a pair (string, string); got {spec}."
        )
    if not is_batch:
        dataset = dataset.batch(batch_size)
    return dataset.map(unstacked)


def are_strings(spec: object) -> bool:
    """Returns whether a dataset's spec describes bare strings, `(string, string, ...)`."""
    return isinstance(spec, tuple) and all(map(_is_string, spec))


def _is_string(spec):
    return isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string
