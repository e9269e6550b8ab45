"""Texts for a `BertEmbedder`: vectors out."""

from __future__ import annotations

import keras

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


@keras.saving.register_keras_serializable(package="keras_bert")
class BertEmbedderPreprocessor(BertPreprocessor):
    """Reads texts for a `BertEmbedder`, and answers with their vectors.

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

    def answers(self, outputs, rows=None) -> dict:
        """`embedding`, `[B, H]`.

        Raises:
            ValueError: if the model doesn't pool: a text then has a vector for each token.
        """
        if len(outputs.shape) != 2:
            raise ValueError(
                "With pooling=None a text has a vector for each token, and an answer needs one for "
                'the whole. Take this model with pooling="mean", "max" or "cls", for instance by '
                'BertEmbedder.from_preset(folder, pooling="mean"); predict gives token vectors.'
            )
        return {"embedding": outputs}
