"""Raw text as batches of what a task takes."""

import numpy as np
import tensorflow as tf

from keras_bert.data.padding import trim_padding


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
):
    """Batches of prepared inputs from raw text, as `BertTask.fit` makes them.

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
        trim: bool, whether each batch is cut to its longest text: faster on a CPU, but on a TPU,
            or where XLA compiles a model for each shape, lengths should stay the same.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.

    Raises:
        ValueError: if there are no texts, something is no text, or texts, labels and weights
            differ in number.

    Example:
    ```python
    data = text_dataset(["a", "b"], [0, 1], preprocessor=preprocessor, batch_size=2)
    model.fit(data)
    ```
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    if isinstance(x, tf.data.Dataset):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "A dataset brings its own labels and weights: let it give (text, label) or "
                "(text, label, weight), and leave y and sample_weight out."
            )
        dataset = _batches(x, batch_size)
    else:
        dataset = _examples(x, y, sample_weight)
        if shuffle:
            dataset = dataset.shuffle(len(dataset), seed=seed)
        dataset = dataset.batch(batch_size)

    def prepare(texts, *rest):
        columns = texts if isinstance(texts, tuple) else (texts,)
        if columns[0].shape.rank == 2:  # [B, 1 or 2]
            columns = tf.unstack(columns[0], axis=1)
        inputs = preprocessor(*columns)
        inputs = trim_padding(inputs) if trim else inputs
        return (inputs, *rest) if rest else inputs

    return dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _examples(x, y, sample_weight):
    """A dataset of `((text,), ...)` or `((text, text), ...)` from what is in memory."""
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
    return tf.data.Dataset.from_tensor_slices((texts, *rest))


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
