"""Long texts as batches of windows. B texts, N windows."""

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.overlapping_windows import overlapping_windows
from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.row_batches import prepared, row_batches
from keras_bert.preprocessing.text_dataset import text_batches

_TEXTS_AT_ONCE = 1024


def window_dataset(
    x,
    y=None,
    sample_weight=None,
    *,
    preprocessor,
    window_stride,
    batch_size,
    shuffle=False,
    seed=None,
    trim=False,
    bucket_lengths=None,
    tokens_per_batch=None,
    drop_remainder=False,
):
    """Batches of windows of raw texts, each with the label and the weight of its text.

    Args:
        x: texts, as `text_dataset` takes them, but no pairs. What is in memory is tokenized once.
        y: `[n, ...]` labels, or None.
        sample_weight: `[n]` weights, or None.
        preprocessor: a `BertPreprocessor`; a window has `sequence_length - 2` tokens of its text.
        window_stride: int, tokens from the beginning of a window to that of the next one.
        batch_size: int, windows.
        shuffle: bool, whether windows in memory are shuffled in each epoch.
        seed: int, of the shuffling.
        trim: bool, whether each batch is cut to its longest window, or ints, as in
            `text_dataset`.
        bucket_lengths: ints, as in `text_dataset`.
        tokens_per_batch: int, as in `text_dataset`.
        drop_remainder: bool, as in `text_dataset`.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.

    Raises:
        ValueError: if texts are pairs, there are none, or the windows' sizes don't do.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d"]
    >>> preprocessor = BertPreprocessor(BertTokenizer(words), sequence_length=5)
    >>> data = window_dataset(
    ...     ["a b c d"], [7], preprocessor=preprocessor, window_stride=2, batch_size=4
    ... )
    >>> [(inputs, labels)] = data.as_numpy_iterator()
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[2, 5, 6, 7, 3], [2, 7, 8, 3, 0]], [7, 7])
    """
    check_window_stride(window_stride, preprocessor.sequence_length)
    if isinstance(x, tf.data.Dataset):
        if bucket_lengths is not None or tokens_per_batch is not None:
            raise ValueError("bucket_lengths needs texts in memory, as a list, not a dataset.")

        def prepare(columns, *rest):
            windows, counts = overlapping_windows(
                preprocessor.tokenizer(one_text(*columns)),
                preprocessor.sequence_length - 2,
                window_stride,
            )
            repeated = tf.nest.map_structure(lambda values: tf.repeat(values, counts, axis=0), rest)
            return (preprocessor.pack(windows), *repeated)

        dataset = text_batches(x, batch_size=batch_size).map(prepare, tf.data.AUTOTUNE)
        dataset = dataset.unbatch().batch(batch_size, drop_remainder=drop_remainder)
        return prepared(dataset, lambda *parts: _with_inputs_trimmed(parts, trim, None))
    windows, text, rest = windows_in_memory(
        x, y, sample_weight, preprocessor=preprocessor, window_stride=window_stride
    )
    rows = row_batches(
        windows.row_lengths().numpy() + 2,
        batch_size,
        shuffle=shuffle,
        seed=seed,
        bucket_lengths=bucket_lengths,
        tokens_per_batch=tokens_per_batch,
        drop_remainder=drop_remainder,
    )
    with tf.device("CPU:0"):
        text = tf.constant(text)

    def gather(rows):
        texts = tf.gather(text, rows)
        inputs = preprocessor.pack(tf.gather(windows, rows))
        parts = (inputs, *(tf.gather(values, texts) for values in rest))
        return _with_inputs_trimmed(parts, trim, bucket_lengths)

    return prepared(rows, gather)


def windows_in_memory(x, y=None, sample_weight=None, *, preprocessor, window_stride):
    """All windows of texts: `(windows, text, rest)`.

    Returns:
        int32 ragged `[N, (T)]`; int64 `[N]`, the text of each window, rising; and the tensors of
        labels and weights, `[n, ...]`, where they are given.
    """
    room = preprocessor.sequence_length - 2
    windows, counts, rest = [], [], []
    with tf.device("CPU:0"):
        for columns, *others in text_batches(x, y, sample_weight, batch_size=_TEXTS_AT_ONCE):
            token_ids = preprocessor.tokenizer(one_text(*columns))
            for parts, part in zip(
                (windows, counts), overlapping_windows(token_ids, room, window_stride), strict=True
            ):
                parts.append(part)
            rest.append(others)
        counts = tf.concat(counts, axis=0).numpy()
        rest = [tf.concat(parts, axis=0) for parts in zip(*rest, strict=True)]
        return tf.concat(windows, axis=0), np.repeat(np.arange(len(counts)), counts), rest


def one_text(texts, pairs=None):
    """The texts; a ValueError if they are pairs."""
    if pairs is not None:
        raise ValueError(
            "Windows are cut from single texts, and these are pairs. Make the model with "
            "window_stride=None, which cuts a pair to fit, or join the two texts."
        )
    return texts


def check_window_stride(window_stride, sequence_length):
    """Raises a ValueError if windows so far apart would leave tokens out."""
    if not 1 <= window_stride <= sequence_length - 2:
        raise ValueError(
            f"window_stride must be from 1 to {sequence_length - 2}, the tokens that fit between "
            f"[CLS] and [SEP] in sequence_length={sequence_length}; got {window_stride}."
        )


def _with_inputs_trimmed(parts, trim, bucket_lengths):
    """`(inputs, ...)` cut to the longest window, where that is wished for."""
    inputs, *rest = parts if isinstance(parts, tuple) else (parts,)
    inputs = trimmed(inputs, trim, bucket_lengths)
    return (inputs, *rest) if rest else inputs
