"""Raw text as batches of what a task takes."""

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.row_batches import check_buckets, prepared, row_batches

_TEXTS_AT_ONCE = 1024


def text_dataset(
    x,
    y=None,
    sample_weight=None,
    *,
    preprocessor,
    batch_size,
    shuffle=False,
    seed=None,
    trim=False,
    longest_first=False,
    bucket_lengths=None,
    tokens_per_batch=None,
    drop_remainder=False,
):
    """Batches of prepared inputs from raw text, as `BertTask.fit` makes them.

    Texts in memory are tokenized once, before the first batch.

    Args:
        x: a string, a list or array of strings, a pair `(texts, texts)`, a list of pairs, an
            array `[n, 2]`, or a `tf.data.Dataset` of texts, `(text, label)` or
            `(text, label, weight)`, batched or not, where a text may be a pair `(text, text)` of
            them. Batches of pairs may be `[B, 2]` too.
        y: `[n]` labels, or None.
        sample_weight: `[n]` weights, or None.
        preprocessor: a `BertPreprocessor`.
        batch_size: int.
        shuffle: bool, whether texts in memory are shuffled in each epoch.
        seed: int, of the shuffling.
        trim: bool, whether each batch is cut to its longest text; or ints, the lengths that
            batches may be cut to, since XLA compiles a model for each. `batch_shapes` says what
            suits a device.
        longest_first: bool, whether texts in memory come in the order of their lengths: with
            `trim` the fastest to predict in.
        bucket_lengths: ints, the lengths that batches have, for instance `(32, 64, 128)`: texts in
            memory that need the same one are batched together, so that little is padding and the
            model is compiled for few shapes.
        tokens_per_batch: int, in place of `batch_size`: with `bucket_lengths`, a batch has as many
            texts as make up so many tokens, more of them where they are short.
        drop_remainder: bool, whether a last batch of fewer texts is left out, as is best on a TPU.
            A dataset that has batches already is divided anew then.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.

    Raises:
        ValueError: if there are no texts, something is no text, texts, labels and weights
            differ in number, the lengths of buckets don't do, or `longest_first` comes with
            another order.

    Example:
    ```python
    data = text_dataset(["a", "b"], [0, 1], preprocessor=preprocessor, batch_size=2)
    model.fit(data)
    ```
    """
    check_buckets(bucket_lengths, tokens_per_batch, batch_size, preprocessor.sequence_length)
    if longest_first and (shuffle or bucket_lengths is not None):
        raise ValueError(
            "longest_first is an order by itself: leave out shuffle and bucket_lengths, or leave "
            "out longest_first."
        )
    if isinstance(x, tf.data.Dataset):
        if bucket_lengths is not None or longest_first:
            raise ValueError(
                "A dataset's texts can't be sorted by length: bucket_lengths and longest_first "
                "need them in memory, as a list."
            )
        dataset = text_batches(x, y, sample_weight, batch_size=batch_size)
        if drop_remainder:
            dataset = dataset.rebatch(batch_size, drop_remainder=True)

        def read(columns, *rest):
            return preprocessor(*columns), *rest

    else:
        texts, *rest = _examples(x, y, sample_weight)
        with tf.device("CPU:0"):
            columns = tuple(_token_ids(column, preprocessor) for column in texts)
            rest = tuple(map(tf.convert_to_tensor, rest))
        dataset = row_batches(
            _packed_lengths(columns, preprocessor.sequence_length),
            batch_size,
            shuffle=shuffle,
            seed=seed,
            longest_first=longest_first,
            bucket_lengths=bucket_lengths,
            tokens_per_batch=tokens_per_batch,
            drop_remainder=drop_remainder,
        )

        def read(rows):
            inputs = preprocessor.pack(*(tf.gather(column, rows) for column in columns))
            return inputs, *(tf.gather(values, rows) for values in rest)

    def prepare(*batch):
        inputs, *rest = read(*batch)
        inputs = trimmed(inputs, trim, bucket_lengths)
        return (inputs, *rest) if rest else inputs

    return prepared(dataset, prepare)


def text_batches(x, y=None, sample_weight=None, *, batch_size):
    """Batches `((texts, [second texts]), [labels, [weights]])`, raw, of a `text_dataset`'s `x`."""
    if isinstance(x, tf.data.Dataset):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "A dataset brings its own labels and weights: let it give (text, label) or "
                "(text, label, weight), and leave y and sample_weight out."
            )
        dataset = _batches(x, batch_size)
    else:
        dataset = tf.data.Dataset.from_tensor_slices(_examples(x, y, sample_weight))
        dataset = dataset.batch(batch_size)

    def as_columns(texts, *rest):
        columns = texts if isinstance(texts, tuple) else (texts,)
        if columns[0].shape.rank == 2:  # [B, 1 or 2]
            columns = tuple(tf.unstack(columns[0], axis=1))
        return (columns, *rest)

    return dataset.map(as_columns)


def num_texts(x):
    """How many texts, or pairs of them, there are in what is in memory."""
    return len(_columns(x["text"] if isinstance(x, dict) else x)[0])


def _examples(x, y, sample_weight):
    """`((texts,), ...)` or `((texts, texts), ...)` of what is in memory."""
    if y is None and sample_weight is not None:
        raise ValueError("There are weights but no labels: give y with sample_weight.")
    texts = _columns(x)
    rest = [np.asarray(part) for part in (y, sample_weight) if part is not None]
    for part in (*texts, *rest):
        if len(part) != len(texts[0]):
            raise ValueError(
                f"There are {len(texts[0])} texts but {len(part)} second texts, labels or "
                "weights: give each text one."
            )
    return (texts, *rest)


def _token_ids(texts, preprocessor):
    """The ragged token ids `[n, (T)]` of string `[n]`, made on all cores."""
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(_TEXTS_AT_ONCE)
    ragged = list(batches.map(preprocessor.tokenizer, num_parallel_calls=tf.data.AUTOTUNE))
    return tf.concat(ragged, axis=0)


def _packed_lengths(columns, sequence_length):
    """`[n]`: how many tokens are not padding when ragged token ids are packed."""
    specials = 1 + len(columns)
    return np.minimum(specials + sum(c.row_lengths().numpy() for c in columns), sequence_length)


def _batches(dataset, batch_size):
    """Batches of `(texts, ...)` from a dataset of texts, batched or not, labelled or not."""
    spec = dataset.element_spec
    parts = spec if isinstance(spec, tuple) else (spec,)
    if len(parts) < 3 and all(map(_is_strings, parts)):  # a bare text, or a bare pair of them
        dataset = dataset.map(lambda *texts: (texts,))
        parts = (parts,)
    columns = parts[0] if isinstance(parts[0], tuple) else parts[:1]
    labels = tf.nest.flatten(parts[1:])
    ranks = [column.shape.rank for column in columns if _is_strings(column)]
    is_batch = ranks in ([1], [1, 1]) or (ranks == [2] and columns[0].shape[1] in (1, 2))
    is_batch = is_batch and not any(label.shape.rank == 0 for label in labels)
    is_text = len(ranks) == len(columns) and (is_batch or ranks in ([0], [0, 0]))
    if not is_text or any(map(_is_strings, labels)):
        raise ValueError(
            "A dataset of text gives texts, (text, label) or (text, label, weight), batched or "
            "not, where a text is a string or a pair (string, string), as in "
            "((text, text), label), and labels are numbers, not strings; this one gives "
            f"{spec}. Bring it into this form with dataset.map."
        )
    return dataset if is_batch else dataset.batch(batch_size)


def _is_strings(spec):
    return isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string


def _columns(x):
    """`x` as a tuple of one or two string tensors `[n]`."""
    if isinstance(x, (str, bytes)) or (isinstance(x, tuple) and all(map(_is_text, x))):
        x = [x] if x != () else []
    elif not isinstance(x, (list, tuple)):
        x = np.atleast_1d(x)
    if not len(x) or not len(x[0] if isinstance(x, tuple) else x):
        raise ValueError("There are no texts: give at least one.")
    if not isinstance(x, tuple):
        widths = {len(row) if _is_row(row) else 0 for row in x}
        if len(widths) > 1:
            raise ValueError(
                "Some texts are in pairs and others are not; give each a second text, or none."
            )
        x = zip(*x, strict=True) if widths != {0} else (x,)
    columns = tuple(map(_strings, x))
    if len(columns) > 2:
        raise ValueError(
            f"A text is alone or one of a pair; here they come {len(columns)} together. Give a "
            "list of texts, or a pair (texts, second texts)."
        )
    return columns


def _strings(column):
    try:
        return tf.convert_to_tensor(column if tf.is_tensor(column) else list(column), tf.string)
    except (TypeError, ValueError) as error:
        for index, text in enumerate(column):
            if not _is_text(text):
                raise ValueError(
                    f"Text {index} is {text!r}, not a string. Leave it out, or give '' for none."
                ) from error
        raise


def _is_row(value):
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _is_text(value):
    return isinstance(value, (str, bytes))
