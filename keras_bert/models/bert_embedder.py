"""BERT that gives a vector for a text."""

import keras

from keras_bert.layers.pooling import Pooling
from keras_bert.models.bert_task import BertTask


@keras.saving.register_keras_serializable(package="keras_bert")
class BertEmbedder(BertTask):
    """A vector for each text, out of the vectors of its tokens.

    Use it for search, clusters and similarity, best from a preset that was trained for them: what
    comes out of an encoder that was only pre-trained says little about meaning.
    Source: Reimers and Gurevych 2019; folders of sentence-transformers load into it.

    Args:
        backbone: a `BertBackbone`.
        pooling: `"mean"` of the tokens, `"max"`, or `"cls"`, the first one's.
        normalize: bool, whether vectors are scaled to length 1, so that their dot product is
            their cosine.
        preprocessor: a `BertPreprocessor`, for raw text; or None.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs.

    Returns:
        `[B, H]` float32.

    Raises:
        ValueError: if there is no such pooling.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertEmbedder, sizes
    >>> model = BertEmbedder(BertBackbone(vocabulary_size=100, **sizes.tiny))
    >>> tuple(model({"token_ids": np.array([[2, 17, 42, 3]])}).shape)
    (1, 128)
    """

    def __init__(self, backbone, pooling="mean", normalize=True, preprocessor=None, **kwargs):
        pool = Pooling(pooling, normalize, name="pooling")
        encoded = backbone(backbone.input)["sequence_output"]  # [B, S, H]
        vectors = pool(encoded, padding_mask=backbone.input["padding_mask"])  # [B, H]
        super().__init__(dict(backbone.input), vectors, backbone, preprocessor, **kwargs)
        self.pooling = pooling
        self.normalize = normalize

    def default_compile_args(self):
        """None: what the vectors shall be near to is the user's to say."""
        raise ValueError(
            "A BertEmbedder has no loss of its own. Compile it with one of yours, or train a "
            "BertClassifier on its backbone."
        )

    def answers(self, outputs):
        """`embedding`, `[B, H]`."""
        return {"embedding": outputs}

    def get_config(self):
        return {**super().get_config(), "pooling": self.pooling, "normalize": self.normalize}
