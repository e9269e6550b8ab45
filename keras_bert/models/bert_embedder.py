"""BERT that returns vectors: one for a text, or one for each of its tokens."""

import keras

from keras_bert.layers.layer_combination import LayerCombination, layer_places
from keras_bert.layers.pooling import Pooling
from keras_bert.metrics.regression import regression_scores
from keras_bert.models import comparing
from keras_bert.models.bert_task import BertTask
from keras_bert.models.precision import head_policy
from keras_bert.models.task_parts import check_backbone
from keras_bert.readers.shown import shown


@keras.saving.register_keras_serializable(package="keras_bert")
class BertEmbedder(BertTask):
    """A vector for each text, pooled from those of its tokens; or the vectors of the tokens.

    Use it for search, clusters and similarity, best from a preset that was trained for them. The
    vectors of an encoder that was only pre-trained say little about meaning. With `pooling=None`
    they are features for another model, such as a tagger. Source: Reimers and Gurevych 2019;
    folders of sentence-transformers load into it. Layers: Devlin et al. 2019, section 5.3 and
    table 7.

    Args:
        backbone: a `BertBackbone`.
        pooling: `"mean"` or `"max"` of the tokens, or `"cls"`, the first token. None returns the
            vectors of the tokens, 0 at padding; such a model can't be exported.
        normalize: bool, whether each vector is scaled to length 1, so that the dot product of two
            is their cosine.
        layers: list of ints, the layers that make up a token's vector, numbered as transformers
            numbers `hidden_states`: 0 is the embeddings, 1 to `num_layers` are the blocks, -1 is
            the last block, -2 the one before it. None means the last block. Blocks after the
            highest of these are not computed.
        combine: how several layers become one before pooling: `"concat"`, in the order of `layers`,
            `"sum"`, `"mean"`, or `"weighted"`, a sum with trainable weights, as in ELMo.
        preprocessor: a `BertEmbedderPreprocessor`, for raw text; or None.
        dtype: the dtype policy of pooling, as of `BertBackbone`; None means the backbone's.
        **kwargs: arguments of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs.

    Returns:
        `[B, H]` float32, or `[B, S, H]` with `pooling=None`. If L layers are concatenated, the
        last axis is L * H.

    Raises:
        ValueError: if the pooling, a layer or the combination is unknown, or `"weighted"` gets a
            single layer.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertEmbedder, sizes
    >>> backbone = BertBackbone(vocabulary_size=100, **sizes.tiny)
    >>> token_ids = {"token_ids": np.array([[2, 17, 42, 3]])}
    >>> tuple(BertEmbedder(backbone)(token_ids).shape)
    (1, 128)
    >>> features = BertEmbedder(backbone, pooling=None, normalize=False, layers=[-1, -2])
    >>> tuple(features(token_ids).shape)
    (1, 4, 256)
    """

    preprocessor_name = "BertEmbedderPreprocessor"
    uses_pooler = False
    output_name = "embedding"
    similarity = comparing.similarity

    def __init__(
        self,
        backbone,
        pooling="mean",
        normalize=True,
        layers=None,
        combine="concat",
        preprocessor=None,
        dtype=None,
        **kwargs,
    ):
        check_backbone("BertEmbedder", backbone)
        policy = head_policy(dtype, backbone)
        inputs = backbone.unpacked_input
        pool = Pooling(pooling, normalize, name="pooling", dtype=policy)
        combination = LayerCombination(combine, name="layer_combination", dtype=policy)
        if layers is None and combine != "weighted":
            encoded = backbone(inputs)["sequence_output"]  # [B, S, H]
        else:
            places = layer_places([-1] if layers is None else layers, backbone.num_layers)
            states = backbone.hidden_states(inputs)
            encoded = combination([states[place] for place in places])  # [B, S, H]
        vectors = pool(encoded, padding_mask=inputs["padding_mask"])  # [B, H]
        super().__init__(inputs, vectors, backbone, preprocessor, dtype, **kwargs)
        self.pooling = pooling
        self.normalize = normalize
        self.chosen_layers = None if layers is None else [*map(int, layers)]  # Keras has `layers`
        self.combine = combine

    def default_compile_args(self):
        """Raises a ValueError: an embedder has no loss of its own."""
        raise ValueError(
            "A BertEmbedder has no loss of its own. Compile it with one of yours, or train a "
            "BertClassifier on its backbone."
        )

    def scores(self, x, y=None, batch_size=None):
        """Computes the correlation of cosines with similarity scores, as in STS.

        Args:
            x: a pair `(texts, others)`.
            y: `[n]` similarity scores.
            batch_size: int; 32 by default.

        Returns:
            A dict of floats: `spearman`, `pearson` and `mean_squared_error`.
        """
        if not isinstance(x, tuple) or len(x) != 2:
            raise ValueError(f"scores takes a pair (texts, others) as x; got {shown(x)}.")
        return regression_scores(y, self.similarity(*x, batch_size=batch_size))

    def get_config(self):
        return {
            **super().get_config(),
            "pooling": self.pooling,
            "normalize": self.normalize,
            "layers": self.chosen_layers,
            "combine": self.combine,
        }
