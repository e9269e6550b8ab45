"""Texts with numbers beside them, as batches of what a task takes."""

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.features import checked_features


def feature_dataset(x, y=None, sample_weight=None, *, num_features, make_dataset):
    """Batches of prepared inputs that have `features` too.

    Args:
        x: a dict of `text`, what `text_dataset` takes, and `features`, `[n, num_features]`; or a
            `tf.data.Dataset` that gives such dicts, `(dict, label)` or `(dict, label, weight)`,
            batched or not.
        y: `[n, ...]` labels, or None.
        sample_weight: `[n]` weights, or None.
        num_features: int.
        make_dataset: a function of texts and of labels, or of a dataset, that gives a dataset of
            `(inputs, labels)`: what `text_dataset` and `window_dataset` do.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.

    Raises:
        ValueError: if features aren't finite numbers of that shape, or not as many as texts.

    Example:
    ```python
    data = feature_dataset(
        {"text": ["a", "b"], "features": [[1.0], [2.0]]}, [0, 1], num_features=1,
        make_dataset=lambda x, y=None: text_dataset(
            x, y, preprocessor=preprocessor, batch_size=2
        ),
    )
    ```
    """
    if isinstance(x, tf.data.Dataset):
        _check_spec(x.element_spec, num_features)
        return make_dataset(x.map(_apart)).map(lambda inputs, rest: _together(inputs, *rest))
    if sample_weight is not None and y is None:
        raise ValueError("There are weights but no labels: give y with sample_weight.")
    features = checked_features(x["features"], num_features)
    column = x["text"][0] if isinstance(x["text"], tuple) else x["text"]
    num_texts = 1 if isinstance(column, (str, bytes)) else len(column)
    with tf.device("CPU:0"):
        parts = [tf.constant(np.asarray(p)) for p in (features, y, sample_weight) if p is not None]
    for what, part in zip(("rows of features", "labels", "weights"), parts, strict=False):
        if len(part) != num_texts:
            raise ValueError(f"There are {num_texts} texts but {len(part)} {what}.")

    def gather(inputs, rows):
        return _together(inputs, *(tf.gather(part, rows) for part in parts))

    # labels that are row numbers find the rows again, however texts are batched or cut
    return make_dataset(x["text"], np.arange(len(features))).map(gather)


def checked_feature_dataset(dataset):
    """The same dataset of prepared inputs, ending in an error where a feature is not finite."""

    def check(inputs, *rest):
        inputs = {**inputs, "features": _finite(inputs["features"])}
        return (inputs, *rest) if rest else inputs

    return dataset.map(check)


def _check_spec(spec, num_features):
    shape = (spec[0] if isinstance(spec, tuple) else spec)["features"].shape
    if shape.rank not in (1, 2) or shape[-1] not in (None, num_features):
        raise ValueError(
            f"The features of a text must be {num_features} numbers, for the model has "
            f"num_features={num_features}; the dataset gives shape {shape}."
        )


def _apart(x, *rest):
    """`(texts, (features, ...))`."""
    return x["text"], (x["features"], *rest)


def _together(inputs, features, *rest):
    """`({..., "features"}, ...)`."""
    inputs = {**inputs, "features": _finite(tf.cast(features, tf.float32))}
    return (inputs, *rest) if rest else inputs


def _finite(features):
    message = "features must be finite numbers; leave out or fill what is missing. They are:"
    is_finite = tf.reduce_all(tf.math.is_finite(features))
    with tf.control_dependencies([tf.debugging.Assert(is_finite, [message, features])]):
        return tf.identity(features)
