"""Examples that train an embedder. n examples of k texts each, B examples of a batch."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.messages import check_one_each, is_missing, shown
from keras_bert.preprocessing.batches import Batches, cut_rows
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.checked_numbers import number_array
from keras_bert.preprocessing.forms import check_each, one_each
from keras_bert.preprocessing.labels import label_array
from keras_bert.preprocessing.text_rows import TextRows


@dataclasses.dataclass(kw_only=True)
class TextColumns(TextRows):
    """Examples of several texts, such as an anchor and its positive, each in a row of its own.

    The columns are those of k texts, and the targets scores, if there are any, or weights.
    """

    numbers: Any  # int32 `[n, k]`, equal for equal texts; or None if there are scores

    def num_tokens(self) -> np.ndarray:
        lengths = [self.packer.lengths(column) for column in self.columns]
        return np.max(lengths, axis=0)  # of each example's longest text

    def batch(self, rows: Any, batching: Batching) -> tuple:
        """Makes `(inputs, labels)` or `(inputs, labels, weights)` of examples by number, `[B]`.

        Inputs are a tuple of k dicts of `[B, S]`, each as long as its own longest text. Labels are
        scores, `[B]`, or the numbers of the texts in the batch, `[B, k]`.
        """
        texts = [column.take(rows) for column in self.columns]
        inputs = tuple(self.packed([text], batching) for text in texts)
        targets = self.take(self.targets, rows)
        if self.numbers is None:
            return (inputs, *targets)
        numbers = self.ops.take(self.numbers, rows)
        # Losses take numbers as float32, which holds 16 million.
        return (inputs, self.ops.unique_indices(numbers), *targets)

    def batches(self, batching: Batching) -> Batches:
        is_one = batching.batch_size == 1 and batching.bucket_lengths is None
        is_one |= len(self.num_tokens()) == 1
        if is_one and len(self.columns) == 2 and self.numbers is not None:
            raise ValueError(
                "In a batch of one pair there are no negatives: give more pairs, a larger "
                "batch_size, or hard negatives, (anchors, positives, negatives)."
            )
        return super().batches(batching)


@dataclasses.dataclass(kw_only=True)
class LabelledTexts(TextRows):
    """Texts with classes, from which each batch draws positives and negatives.

    Each text is an anchor once in an epoch. Its positive is another text of its class, and its
    negative one of another class, both drawn uniformly.
    """

    classes: np.ndarray  # int32 `[n]`

    def batch(self, numbers: np.ndarray, batching: Batching) -> tuple:
        """Makes `(inputs, labels)` of anchors, positives and negatives by number, int64 `[B, 3]`.

        Inputs are a tuple of three dicts of `[B, S]`. Labels are classes, `[B, 3]`, so that texts
        of a class aren't negatives of each other.
        """
        inputs = tuple(self.inputs(column, batching) for column in numbers.T)
        return inputs, self.classes[numbers]

    def batches(self, batching: Batching) -> Batches:
        """Makes batches with new draws in each epoch, a function of the seed."""
        batching = batching.for_rows(self.sequence_length)
        batching.check_unsorted("Texts with classes, paired at random,")
        count = len(self.classes)
        by_class = np.argsort(self.classes, kind="stable")
        rank = np.argsort(by_class)  # of each text among those sorted by class
        sizes = np.bincount(self.classes)
        stop = np.cumsum(sizes)[self.classes]
        size = sizes[self.classes]
        start = stop - size

        def order(generator):
            # In a class of ranks 3-6, the text at 5 draws one of 6, 3, 4; negatives lie outside.
            step = generator.integers(1, size)
            positive = start + (rank - start + step) % size
            negative = generator.integers(count - size)
            negative = np.where(negative < start, negative, negative + size)
            anchors = np.arange(count)
            if batching.shuffle:
                anchors = generator.permutation(anchors)
            examples = (anchors, by_class[positive[anchors]], by_class[negative[anchors]])
            return cut_rows(np.stack(examples, axis=1), batching)

        return Batches(order, lambda numbers: self.batch(numbers, batching), batching)


def text_columns_rows(
    preprocessor: Any, columns: tuple[list[str], ...], scores: Any, weights: Any
) -> TextColumns:
    """Reads k columns of n texts as `TextColumns`; scores or weights may be None."""
    names = ["anchor", "positive", *["negative"] * len(columns)]
    for name, column in zip(names, columns, strict=False):
        check_no_empty_text(name, column)
    numbers = None
    targets = ()
    if scores is not None:
        targets = (score_array(scores, columns),)
    else:
        numbers = _text_numbers(columns)
        if weights is not None:
            check_one_each(len(columns[0]), "examples", weights=weights)
            targets = (weights,)
    readers = preprocessor.of_columns(len(columns), scores)
    tokens = []
    for reader, column in zip(readers, columns, strict=True):
        tokens.append(reader.tokenized(column))
    return TextColumns(preprocessor.packer, tuple(tokens), targets=targets, numbers=numbers)


def _text_numbers(columns):
    """Numbers the texts of k columns; equal texts have equal numbers, int32 `[n, k]`."""
    known = {}
    numbers = []
    for column in columns:
        numbers.append([known.setdefault(text, len(known)) for text in column])
    return np.array(numbers, "int32").T


def labelled_texts(preprocessor: Any, texts: list[str], labels: Any) -> LabelledTexts:
    """Reads texts with class labels, names or numbers, as `LabelledTexts`."""
    check_no_empty_text("text", texts)
    check_each(labels, lambda label: not is_missing(label), "A text's label is missing")
    labels = one_each(label_array(labels))
    check_one_each(len(texts), "texts", labels=labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iubUSO":
        raise ValueError(
            f"Labels of texts must be class names or numbers; got {shown(labels)}. Scores need "
            "pairs of texts: fit((texts, others), scores)."
        )
    labels = list(map(str, labels.tolist()))
    names, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise ValueError(f"All {len(labels)} texts have the class '{names[0]}': no negatives.")
    if counts.min() < 2:
        raise ValueError(
            f"Class '{names[counts.argmin()]}' has one text, and no positive for it. Leave it out. "
            "Pairs are a tuple of two columns: fit((texts, positives))."
        )
    tokens = (preprocessor.tokenized(texts),)
    return LabelledTexts(preprocessor.packer, tokens, classes=classes.astype("int32"))


def score_array(scores: Any, columns: Sequence[list[str]]) -> np.ndarray:
    """Returns the scores of pairs as float32 `[n]`."""
    if len(columns) != 2:
        raise ValueError(f"Scores are those of pairs; got examples of {len(columns)} texts with y.")
    what = "The scores of pairs"
    scores = number_array(what, scores, "numbers, one for each", fix="Leave the pair out.")
    scores = one_each(scores)
    check_one_each(len(columns[0]), "pairs", scores=scores)
    return scores


def check_no_empty_text(name: str, column: list[str]) -> None:
    """Raises a ValueError, which says where, if a column of texts has an empty one."""
    empty = [index for index, text in enumerate(column) if not text.strip()]
    if empty:
        raise ValueError(
            f"The {name} of example {empty[0]} is empty; {len(empty)} of {len(column)} are."
        )
