"""Held-out batches: the same rows at every evaluation of a pre-training run."""

import os
from typing import Any

import tensorflow as tf

from keras_bert.corpus.pretraining_dataset import pretraining_dataset
from keras_bert.corpus.shards import Corpus


def heldout_dataset(
    heldout: str | os.PathLike | Corpus,
    corpus: str | os.PathLike | Corpus,
    *,
    multiple_of: int = 1,
    **settings: Any,
) -> tf.data.Dataset:
    """Makes `validation_data` for `BertPretrainer.fit` from a corpus that is not trained on.

    One pass over the held-out corpus, kept in memory: pairs and masks are the same at every
    evaluation, so that two losses differ only in the model.

    Args:
        heldout: the held-out corpus, a folder that `prepare_corpus` wrote, or a `Corpus`.
        corpus: the training corpus, to compare the vocabularies.
        multiple_of: int, the model's `steps_per_execution`: batches after the last multiple are
            dropped.
        **settings: arguments of `pretraining_dataset`, the same as for training. `batch_size` is
            required.

    Returns:
        A `tf.data.Dataset` of known length.

    Raises:
        ValueError: if the corpora differ in vocabulary or casing, the held-out text has fewer than
            `multiple_of` batches, or `pretraining_dataset` refuses a setting.

    Example:
    ```python
    settings = {"batch_size": 256, "sequence_length": 128}
    model.fit(
        keras_bert.pretraining_dataset("corpus", **settings),
        validation_data=keras_bert.heldout_dataset("others", "corpus", **settings),
        steps_per_epoch=1000,
        epochs=900,
    )
    ```
    """
    heldout, corpus = (
        part if isinstance(part, Corpus) else Corpus(part) for part in (heldout, corpus)
    )
    corpus.check_corpus(heldout)
    data = pretraining_dataset(heldout, epochs=1, **settings).cache()
    batches = sum(1 for _ in data)
    batches -= batches % multiple_of
    if not batches:
        raise ValueError(
            f"{heldout.folder} has fewer than {multiple_of} batches of "
            f"{settings['batch_size']} rows (steps_per_execution={multiple_of}). Hold out more "
            "text, or reduce batch_size or steps_per_execution."
        )
    return data.take(batches).apply(tf.data.experimental.assert_cardinality(batches))
