"""Cosines between texts: a method of `BertEmbedder`."""

import numpy as np

from keras_bert.preprocessing.raw import is_raw
from keras_bert.readers.shown import shown


def similarity(model, texts, others, batch_size=None):
    """Computes the cosine between the vectors of each text and its counterpart.

    For every text with every other, use `predict(texts) @ predict(others).T` with normalized
    vectors.

    Args:
        model: a `BertEmbedder`.
        texts: a text, or a list of n texts.
        others: the counterparts, a text or a list of n texts.
        batch_size: int; 32 by default.

    Returns:
        `[n]` float32, from -1 to 1.

    Raises:
        ValueError: if texts and others differ in number, or the model doesn't pool.
    """
    texts, others = _checked(model, texts, others)
    both = model.predict([*texts, *others], batch_size=batch_size, verbose=0)  # [2 * n, H]
    both = both / np.maximum(np.linalg.norm(both, axis=-1, keepdims=True), 1e-12)
    return np.sum(both[: len(texts)] * both[len(texts) :], axis=-1)


def _checked(model, texts, others):
    """Returns texts and others as lists of the same length."""
    for x in (texts, others):
        if not hasattr(x, "__len__") or isinstance(x, dict) or not is_raw(x):
            raise ValueError(f"similarity takes texts and as many others; got {shown(x)}.")
    texts, others = ([x] if isinstance(x, str) else list(x) for x in (texts, others))
    if len(texts) != len(others):
        raise ValueError(
            f"There are {len(texts)} texts but {len(others)} others: give each text one. For "
            "every text with every other, multiply what predict gives."
        )
    if model.pooling is None:
        raise ValueError(
            "With pooling=None a text has a vector for each token, and similarity needs one for "
            'the whole. Take this model with pooling="mean", "max" or "cls", for instance by '
            'BertEmbedder.from_preset(folder, pooling="mean").'
        )
    return texts, others
