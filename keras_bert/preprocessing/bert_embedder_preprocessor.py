"""Preprocessing for text embeddings."""

from __future__ import annotations

import keras
import tensorflow as tf

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.preprocessing.rows import Rows


@keras.saving.register_keras_serializable(package="keras_bert")
class BertEmbedderPreprocessor(BertPreprocessor):
    """Preprocessor of `BertEmbedder`: texts in, vectors out.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int, S.
        truncation: see `BertPreprocessor`.

    Call arguments:
        texts: `[B]` strings.
        pairs: `[B]` strings, the second text of each; or None.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask`, each `[B, S]` int32.

    Example:
    >>> from keras_bert import BertEmbedderPreprocessor, BertTokenizer
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "it", "is"])
    >>> BertEmbedderPreprocessor(tokenizer, 8)(["So it is."])["token_ids"].numpy()
    array([[2, 5, 6, 7, 1, 3, 0, 0]], dtype=int32)
    """

    def answers(self, outputs: tf.Tensor, rows: Rows | None = None) -> dict:
        """Returns the model's vectors as `embedding`, `[B, H]`.

        Raises:
            ValueError: if the model returns a vector for each token (`pooling=None`).
        """
        if len(outputs.shape) != 2:
            raise ValueError(
                "An answer needs one vector per text; with pooling=None there is one per token. "
                'Load the model with pooling="mean", "max" or "cls", for example '
                'BertEmbedder.from_preset(folder, pooling="mean"). predict returns token vectors.'
            )
        return {"embedding": outputs}
