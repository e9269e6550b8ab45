"""Examples that train an embedder. n examples of k texts each, B examples of a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_bert.messages import shown
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.extra_inputs import finite
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.raw import as_floats
from keras_bert.preprocessing.row_batches import map_rows
from keras_bert.preprocessing.rows import row_lengths
from keras_bert.preprocessing.text_examples import check_same_number, is_strings

if TYPE_CHECKING:  # which imports this module
    from keras_bert.preprocessing.bert_embedder_preprocessor import BertEmbedderPreprocessor
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


@dataclasses.dataclass
class TextColumns:
    """Examples of several texts, such as an anchor and its positive, each in a row of its own.

    Attributes:
        preprocessor: a `BertPreprocessor`.
        columns: k int32 ragged `[n, (T)]`, token ids.
        numbers: int32 `[n, k]`, equal for equal texts; or None if there are scores.
        targets: a tuple of scores, float32 `[n]`, if there are any, and of weights.
    """

    preprocessor: BertPreprocessor
    columns: tuple[tf.RaggedTensor, ...]
    numbers: tf.Tensor | None
    targets: tuple = ()

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[n]`, the number of tokens of each example's longest text."""
        longest = np.max([row_lengths(column) for column in self.columns], axis=0)
        return np.minimum(2 + longest, self.preprocessor.sequence_length)

    @in_graph
    def batch(self, rows: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs, labels)` or `(inputs, labels, weights)` of examples by number, `[B]`.

        Inputs are a tuple of k dicts of `[B, S]`, each as long as its own longest text. Labels are
        scores, `[B]`, or the numbers of the texts in the batch, `[B, k]`.
        """
        inputs = tuple(
            trimmed(self.preprocessor.pack(tf.gather(column, rows)), batching)
            for column in self.columns
        )
        targets = tuple(tf.gather(values, rows) for values in self.targets)
        if self.numbers is None:
            return (inputs, *targets)
        numbers = tf.gather(self.numbers, rows)
        return (inputs, numbered(numbers), *targets)


@dataclasses.dataclass
class LabelledTexts:
    """Texts with classes, from which each batch draws positives and negatives.

    Each text is an anchor once in an epoch. Its positive is another text of its class, and its
    negative one of another class, both drawn uniformly.

    Attributes:
        preprocessor: a `BertPreprocessor`.
        texts: int32 ragged `[n, (T)]`, token ids.
        classes: int32 `[n]`.
        by_class: int64 `[n]`, the numbers of the texts, sorted by class.
        places: int64 `[n]`, the place of each text in `by_class`.
        starts: int64 `[C + 1]`, where each class begins in `by_class`, and n.
    """

    preprocessor: BertPreprocessor
    texts: tf.RaggedTensor
    classes: tf.Tensor
    by_class: tf.Tensor
    places: tf.Tensor
    starts: tf.Tensor

    def num_tokens(self) -> np.ndarray:
        """Returns an array `[n]`, the number of tokens of each text."""
        lengths = 2 + row_lengths(self.texts)
        return np.minimum(lengths, self.preprocessor.sequence_length)

    @in_graph
    def batch(self, rows: tf.Tensor, draws: tf.Tensor, batching: Batching) -> tuple:
        """Makes `(inputs, labels)` of anchors by number.

        Args:
            rows: int64 `[B]`.
            draws: int64 `[B, 2]`, random numbers of at least 0, for the positive and the negative.
            batching: a `Batching` from `for_rows`.

        Returns:
            A tuple of three dicts of `[B, S]`: anchors, positives, negatives. Labels are classes,
            `[B, 3]`, so that texts of a class aren't negatives of each other.
        """
        classes = tf.gather(self.classes, rows)
        start, stop = tf.gather(self.starts, classes), tf.gather(self.starts, classes + 1)
        size, place = stop - start, tf.gather(self.places, rows)
        positive = start + (place - start + 1 + draws[:, 0] % (size - 1)) % size
        other = draws[:, 1] % (tf.size(self.by_class, tf.int64) - size)
        negative = tf.where(other < start, other, other + size)
        numbers = [rows, *(tf.gather(self.by_class, p) for p in (positive, negative))]
        inputs = tuple(
            trimmed(self.preprocessor.pack(tf.gather(self.texts, number)), batching)
            for number in numbers
        )
        return inputs, tf.stack([tf.gather(self.classes, number) for number in numbers], axis=1)

    def batches(self, batching: Batching) -> tf.data.Dataset:
        """Makes batches with new draws in each epoch, a function of the seed."""
        self._check(batching)
        size, drop = batching.batch_size, bool(batching.drop_remainder)
        is_shuffled = bool(batching.shuffle)
        rows = tf.data.Dataset.range(len(self.classes))
        draws = tf.data.Dataset.random(batching.seed, rerandomize_each_iteration=is_shuffled)
        if is_shuffled:
            rows = rows.shuffle(len(self.classes), seed=batching.seed)
        draws = draws.batch(2, drop_remainder=True)
        return map_rows(
            tf.data.Dataset.zip((rows, draws)).batch(size, drop_remainder=drop),
            lambda row, draw: self.batch(row, draw, batching.padding()),
        )

    def _check(self, batching):
        if batching.bucket_lengths is not None or batching.longest_first:
            raise ValueError(
                "Texts with classes are paired at random, so they can't be sorted by length: leave "
                "out bucket_lengths and longest_first."
            )


def text_columns_rows(
    preprocessor: BertPreprocessor,
    columns: tuple[tf.Tensor, ...],
    targets: tuple,
    of_columns: Sequence[BertPreprocessor],
) -> TextColumns:
    """Reads columns of strings, `[n]` each, with scores or without, as `TextColumns`.

    Args:
        preprocessor: a `BertPreprocessor`.
        columns: k string tensors.
        targets: `(scores, weights)`, either of which may be None.
        of_columns: the preprocessor that tokenizes each column, with its prompt.

    Raises:
        ValueError: if a text is empty, there is nothing to learn from the scores, or all positives
            are equal.
    """
    for name, column in zip(names_of_columns(len(columns)), columns, strict=True):
        _check_not_empty(name, column)
    scores, weights = targets
    numbers = None
    if scores is not None:
        scores = tf.constant(checked_scores(scores, len(columns[0]), len(columns)))
        if weights is not None:
            raise ValueError(
                "Pairs with scores take no sample_weight: their loss ranks pairs against each "
                "other, and isn't a mean over them."
            )
    else:
        every = tf.unique(tf.concat(columns, axis=0)).idx
        numbers = tf.transpose(tf.reshape(every, [len(columns), -1]))
        _check_positives(numbers.numpy())
    if weights is not None:
        check_same_number(len(columns[0]), weights, "weights")
        weights = tf.constant(weights, "float32")
    pairs = zip(of_columns, columns, strict=True)
    token_ids = tuple(reader.tokenized(column) for reader, column in pairs)
    found = tuple(part for part in (scores, weights) if part is not None)
    return TextColumns(preprocessor, token_ids, numbers, found)


def labelled_texts(preprocessor: BertPreprocessor, texts: tf.Tensor, labels: Any) -> LabelledTexts:
    """Reads texts with class labels, names or numbers, as `LabelledTexts`.

    Raises:
        ValueError: if a text is empty, a class has one text, or there is one class.
    """
    _check_not_empty("text", texts)
    labels = np.asarray(labels)
    check_same_number(len(texts), labels, "labels")
    if labels.ndim != 1 or labels.dtype.kind not in "iubUSO":
        raise ValueError(
            "The labels of texts must be class names or class numbers, one for each text; got "
            f"{shown(labels)}. Scores need pairs of texts: fit((texts, others), scores)."
        )
    names, classes, counts = np.unique(labels.astype(str), return_inverse=True, return_counts=True)
    if counts.min() < 2:
        lonely = [name for name, count in zip(names, counts, strict=True) if count < 2]
        raise ValueError(
            f"Class '{lonely[0]}' has one text, and each text needs a positive: another text of "
            f"its class. Classes with one text: {len(lonely)}. Give them more, or leave them out. "
            "Pairs of texts are a tuple of two columns: fit((texts, positives))."
        )
    if len(names) < 2:
        raise ValueError(
            f"All {len(labels)} texts have the class '{names[0]}', so none has a negative. Give "
            "texts of two or more classes."
        )
    by_class = np.argsort(classes, kind="stable")
    return LabelledTexts(
        preprocessor,
        preprocessor.tokenized(texts),
        tf.constant(classes, "int32"),
        tf.constant(by_class, "int64"),
        tf.constant(np.argsort(by_class), "int64"),
        tf.constant(np.concatenate([[0], np.cumsum(counts)]), "int64"),
    )


def stream_columns(
    preprocessor: BertEmbedderPreprocessor, dataset: tf.data.Dataset, batching: Batching
) -> tf.data.Dataset:
    """Makes training batches of a dataset of `(anchor, positive, ...)` or `((a, b), score)`."""
    if batching.bucket_lengths is not None or batching.longest_first:
        raise ValueError(
            "A dataset's texts can't be sorted by length: bucket_lengths and longest_first need "
            "them in memory, as a list."
        )
    spec = dataset.element_spec
    parts = spec if isinstance(spec, tuple) else (spec,)
    are_texts = all(map(is_strings, parts))
    columns, rest = (parts, ()) if are_texts else (parts[0], parts[1:])
    columns = columns if isinstance(columns, tuple) else (columns,)
    ranks = {part.shape.rank for part in columns if is_strings(part)}
    is_right = all(map(is_strings, columns)) and len(columns) > 1 and ranks in ({0}, {1})
    if (
        not is_right
        or len(rest) > 1
        or any(is_strings(part) or part.dtype.is_complex for part in rest)
    ):
        raise ValueError(
            "A dataset that trains an embedder must yield (anchor, positive), (anchor, positive, "
            "negative, ...) or ((text, other), score), batched or not; this one yields "
            f"{spec}. Texts with classes must be in memory: fit(texts, labels)."
        )
    dataset = dataset.map(lambda *x: (x, ()) if are_texts else (x[0], x[1:]))
    if ranks == {0}:
        dataset = dataset.batch(batching.batch_size)
    if batching.drop_remainder:
        dataset = dataset.rebatch(batching.batch_size, drop_remainder=True)

    def read(columns, rest):
        readers = preprocessor.of_columns(len(columns), rest[0] if rest else None)
        pairs = zip(readers, columns, strict=True)
        token_ids = tuple(reader.graph_tokenizer(reader.texts(column)) for reader, column in pairs)
        numbers, targets = (
            None,
            tuple(finite(tf.cast(scores, "float32"), "Scores") for scores in rest),
        )
        if not rest:
            every = tf.unique(tf.concat(columns, axis=0)).idx
            numbers = tf.transpose(tf.reshape(every, [len(columns), -1]))
        rows = TextColumns(preprocessor, token_ids, numbers, targets)
        return rows.batch(tf.range(token_ids[0].nrows()), batching.padding())

    return map_rows(dataset, read)


def numbered(numbers: tf.Tensor) -> tf.Tensor:
    """Renumbers the texts of a batch from 0, which float32 holds exactly, as losses need them."""
    return tf.reshape(tf.unique(tf.reshape(numbers, [-1])).idx, tf.shape(numbers))


def checked_scores(scores: Any, number: int, texts: int) -> np.ndarray:
    """Returns the scores of pairs as float32 `[n]`.

    Raises:
        ValueError: if they aren't finite numbers, one for each pair, or are all equal.
    """
    if texts != 2:
        raise ValueError(
            f"Scores are those of pairs; got examples of {texts} texts with y. Leave y out."
        )
    check_same_number(number, scores, "scores")
    try:
        array = as_floats(scores)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The scores of pairs must be numbers; got {shown(scores)}. For pairs of which only "
            "some fit together, pass the others' texts as hard negatives."
        ) from error
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(
            f"The scores of pairs must be finite numbers, one for each; got {shown(scores)}."
        )
    if np.ptp(array) == 0:
        raise ValueError(
            f"All pairs have the score {array[0]:g}, so there is no order to learn. If all of them "
            "fit together, leave the scores out."
        )
    return array


def names_of_columns(number: int) -> list[str]:
    """Returns names of the texts of an example for messages: anchor, positive, negatives."""
    return ["anchor", "positive", *(["negative"] * (number - 2))][:number]


def check_negatives(batching: Batching, texts: int) -> None:
    """Raises a ValueError if batches of pairs hold one pair, which has no negatives."""
    if texts == 2 and batching.batch_size == 1 and batching.bucket_lengths is None:
        raise ValueError(
            "In a batch of one pair there are no negatives, so its loss is 0. Use a batch_size of "
            "2 or more (larger is better), or give hard negatives: (anchors, positives, negatives)."
        )


def _check_not_empty(name, column):
    empty = np.flatnonzero(tf.strings.length(tf.strings.strip(column)).numpy() == 0)
    if len(empty):
        raise ValueError(
            f"The {name} of example {empty[0]} is empty; {len(empty)} of {len(column)} are. Leave "
            "these examples out."
        )


def _check_positives(numbers):
    if len(numbers) > 1 and numbers.shape[1] == 2 and (numbers[:, 1] == numbers[0, 1]).all():
        raise ValueError(
            f"All {len(numbers)} positives are the same text, so no anchor has a negative. Give "
            "positives that differ, or hard negatives: (anchors, positives, negatives)."
        )
