"""Raw text as batches of what a task takes."""

import numpy as np
import tensorflow as tf

from keras_bert.data.bert_preprocessor import trim_padding


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
            `(text, label, weight)`, batched or not, where a text may be a pair of them.
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
        ValueError: if there are no texts, or texts and labels differ in number.

    Example:
    ```python
    data = text_dataset(["a", "b"], [0, 1], preprocessor=preprocessor, batch_size=2)
    model.fit(data)
    ```
    """
    if isinstance(x, tf.data.Dataset):
        dataset = x
        spec = dataset.element_spec
        first = tf.nest.flatten(spec[0] if _is_example(spec) else spec)[0]
        if first.shape.rank == 0:
            dataset = dataset.batch(batch_size)
    else:
        texts = _columns(x)
        parts = (texts, *([] if y is None else [np.asarray(y)]))
        if sample_weight is not None:
            parts = (*parts, np.asarray(sample_weight))
        for part in (*texts, *parts[1:]):
            if len(part) != len(texts[0]):
                raise ValueError(
                    f"There are {len(texts[0])} texts but {len(part)} second texts, labels or "
                    "weights: give each text one."
                )
        dataset = tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else (texts,))
        if shuffle:
            dataset = dataset.shuffle(len(texts[0]), seed=seed)
        dataset = dataset.batch(batch_size)

    def prepare(*element):
        texts, *rest = element
        if isinstance(texts, (tuple, list)):
            inputs = preprocessor(*texts)
        else:
            inputs = preprocessor(texts)
        inputs = trim_padding(inputs) if trim else inputs
        return (inputs, *rest) if rest else inputs

    if not _is_example(dataset.element_spec):
        dataset = dataset.map(lambda *texts: (texts if len(texts) > 1 else texts[0],))
    return dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _is_example(spec):
    """Whether elements are `(text, ...)`, not a bare text or a bare pair of texts."""
    if not isinstance(spec, tuple):
        return False
    strings = [isinstance(part, tf.TensorSpec) and part.dtype == tf.string for part in spec]
    return not all(strings) or len(spec) == 1


def _columns(x):
    """`x` as a tuple of one or two string tensors `[n]`."""
    if isinstance(x, (str, bytes)):
        x = [x]
    if tf.is_tensor(x):
        x = x.numpy()
    if not len(x) or not len(x[0] if isinstance(x, tuple) else x):
        raise ValueError("There are no texts: give at least one.")
    if not isinstance(x, tuple):
        first = x[0]
        is_pair = isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) == 1
        x = zip(*x, strict=True) if is_pair else (x,)
    return tuple(
        tf.convert_to_tensor(column if tf.is_tensor(column) else list(column), tf.string)
        for column in x
    )
