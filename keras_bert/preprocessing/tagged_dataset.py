"""Sentences of tagged words as batches of what a token classifier takes."""

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.row_batches import check_buckets, prepared, row_batches
from keras_bert.preprocessing.tagged_windows import TaggedWindows


def tagged_dataset(
    words,
    labels=None,
    *,
    preprocessor,
    batch_size,
    documents=None,
    shuffle=False,
    seed=None,
    trim=False,
    bucket_lengths=None,
    tokens_per_batch=None,
    drop_remainder=False,
):
    """Batches of sentences of words, labelled on the first piece of each word.

    A sentence that is longer than a sequence is parted between words, and every word is in one
    part; so there may be more rows than sentences. Words are tokenized once, before training.
    Source: Devlin et al. 2019, section 5.3.

    Args:
        words: lists of str, the words of each sentence, as `read_conll` gives them.
        labels: lists of int, as many, the class of each word; or None.
        preprocessor: a `BertPreprocessor`.
        batch_size: int.
        documents: `[n]` ints, the document of each sentence: its other sentences then fill each
            sequence up, as context. None for none.
        shuffle: bool, whether rows are shuffled in each epoch.
        seed: int, of the shuffling.
        trim: bool, whether each batch is cut to its longest row, or ints, as in `text_dataset`.
        bucket_lengths: ints, the lengths that batches have, for instance `(32, 64, 128)`; rows
            that need the same one are batched together, as `text_dataset` does it.
        tokens_per_batch: int, in place of `batch_size`, with `bucket_lengths`.
        drop_remainder: bool, as in `text_dataset`.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, or of `(inputs, labels, sample_weight)`: labels
        int32 `[B, S]`, and float32 weights `[B, S]`, 1 at the first piece of each word, else 0.

    Raises:
        ValueError: if there are no words, not a label for each, or the lengths don't do.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "par", "##is"]
    >>> preprocessor = BertPreprocessor(BertTokenizer(words), sequence_length=6)
    >>> data = tagged_dataset(
    ...     [["in", "Paris"]], [[0, 1]], preprocessor=preprocessor, batch_size=1
    ... )
    >>> [(inputs, labels, weights)] = data.as_numpy_iterator()
    >>> inputs["token_ids"].tolist(), labels.tolist(), weights.tolist()
    ([[2, 5, 6, 7, 3, 0]], [[0, 0, 1, 0, 0, 0]], [[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]])
    """
    check_buckets(bucket_lengths, tokens_per_batch, batch_size, preprocessor.sequence_length)
    if labels is not None:
        labels = _flat_labels(words, labels)
    windows = TaggedWindows(words, preprocessor, documents)
    rows = row_batches(
        windows.num_tokens(),
        batch_size,
        shuffle=shuffle,
        seed=seed,
        bucket_lengths=bucket_lengths,
        tokens_per_batch=tokens_per_batch,
        drop_remainder=drop_remainder,
    )
    return windows_dataset(windows, labels, preprocessor, rows, trim, bucket_lengths)


def windows_dataset(windows, labels, preprocessor, rows, trim=False, bucket_lengths=None):
    """The dataset of some `TaggedWindows`, with the labels `[W]` of their words, or None.

    `rows` is a dataset of the numbers `[B]` of windows.
    """
    with tf.device("CPU:0"):
        spans = tf.constant(windows.windows)  # [N, 4]
        pieces, starts = tf.constant(windows.pieces), tf.constant(windows.starts)
        labels = None if labels is None else tf.constant(labels)

    def prepare(rows):  # [B]
        first, own_first, own_last, last = tf.unstack(tf.gather(spans, rows), axis=1)
        tokens = tf.ragged.range(tf.gather(starts, first), tf.gather(starts, last))
        inputs = preprocessor.pack(tokens.with_flat_values(tf.gather(pieces, tokens.flat_values)))
        inputs = trimmed(inputs, trim, bucket_lengths)
        if labels is None:
            return inputs
        words = tf.ragged.range(own_first, own_last)  # [B, (words)]
        row, word = words.value_rowids(), words.flat_values
        position = 1 + tf.gather(starts, word) - tf.gather(starts, tf.gather(first, row))
        places = tf.stack([row, position], axis=1)
        shape = tf.shape(inputs["token_ids"], tf.int64)
        classes = tf.scatter_nd(places, tf.gather(labels, word), shape)  # [B, S]
        weights = tf.scatter_nd(places, tf.ones_like(word, tf.float32), shape)
        static = inputs["token_ids"].shape
        return inputs, tf.ensure_shape(classes, static), tf.ensure_shape(weights, static)

    return prepared(rows, prepare)


def _flat_labels(words, labels):
    """The labels of all words, `[W]`."""
    if len(words) != len(labels):
        raise ValueError(
            f"There are {len(words)} sentences but labels of {len(labels)}: give each sentence "
            "a list of labels."
        )
    for index, (sentence, numbers) in enumerate(zip(words, labels, strict=True)):
        if len(sentence) != len(numbers):
            raise ValueError(
                f"Sentence {index} has {len(sentence)} words but {len(numbers)} labels: give each "
                "word one."
            )
    return np.array([number for numbers in labels for number in numbers], "int32")
