"""BERT that gives vectors: for a text, or for each of its tokens."""

import keras
import numpy as np

from keras_bert.layers.layer_combination import LayerCombination
from keras_bert.layers.pooling import Pooling
from keras_bert.metrics.regression import regression_scores
from keras_bert.models.bert_task import BertTask


@keras.saving.register_keras_serializable(package="keras_bert")
class BertEmbedder(BertTask):
    """A vector for each text, out of the vectors of its tokens; or these themselves.

    Use it for search, clusters and similarity, best from a preset that was trained for them: what
    comes out of an encoder that was only pre-trained says little about meaning. With
    `pooling=None` its vectors are features for another model, such as a tagger.
    Source: Reimers and Gurevych 2019; folders of sentence-transformers load into it. Layers:
    Devlin et al. 2019, section 5.3 and table 7.

    Args:
        backbone: a `BertBackbone`.
        pooling: `"mean"` of the tokens, `"max"`, or `"cls"`, the first one's; or None for the
            vectors of the tokens, which are 0 at padding. These can't be exported to be served.
        normalize: bool, whether each vector is scaled to length 1, so that their dot product is
            their cosine.
        layers: list of ints, the layers that a token's vector is made of: 0 is that of the
            embeddings, 1 to `num_layers` are the blocks, -1 is the last one, -2 that before it,
            and so on, as transformers counts `hidden_states`. None is the last one. Blocks behind
            the last of them are not computed.
        combine: how the layers become one before pooling: `"concat"`, in the order of `layers`,
            `"sum"`, `"mean"`, or `"weighted"`, a sum whose weights are learnt, as ELMo's.
        preprocessor: a `BertEmbedderPreprocessor`, for raw text; or None.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs.

    Returns:
        `[B, H]` float32, H times the number of layers where these are concatenated; `[B, S, H]`
        with `pooling=None`.

    Raises:
        ValueError: if there is no such pooling, layer or combination, or only one layer to weigh.

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

    uses_pooler = False

    def __init__(
        self,
        backbone,
        pooling="mean",
        normalize=True,
        layers=None,
        combine="concat",
        preprocessor=None,
        **kwargs,
    ):
        pool = Pooling(pooling, normalize, name="pooling")
        combination = LayerCombination(combine, name="layer_combination")
        if layers is None and combine != "weighted":
            encoded = backbone(backbone.input)["sequence_output"]  # [B, S, H]
        else:
            places = _places([-1] if layers is None else layers, backbone.num_layers)
            states = backbone.hidden_states(backbone.input)
            encoded = combination([states[place] for place in places])  # [B, S, H]
        vectors = pool(encoded, padding_mask=backbone.input["padding_mask"])  # [B, H]
        super().__init__(dict(backbone.input), vectors, backbone, preprocessor, **kwargs)
        self.pooling = pooling
        self.normalize = normalize
        self.chosen_layers = None if layers is None else [*map(int, layers)]  # Keras has `layers`
        self.combine = combine

    @classmethod
    def preprocessor_class(cls):
        """`BertEmbedderPreprocessor`."""
        from keras_bert.preprocessing.bert_embedder_preprocessor import BertEmbedderPreprocessor

        return BertEmbedderPreprocessor

    def similarity(self, texts, others, batch_size=None):
        """The cosine of the vectors of each text and its other.

        That of every text with every other is `predict(texts) @ predict(others).T`, where the
        vectors are normalized.

        Args:
            texts: a text, or a list of them.
            others: as many.
            batch_size: int; 32 by default.

        Returns:
            `[n]` float32, from -1 to 1.

        Raises:
            ValueError: if there are not as many others, or texts have no vector each.
        """
        texts, others = ([x] if isinstance(x, str) else list(x) for x in (texts, others))
        if len(texts) != len(others):
            raise ValueError(
                f"There are {len(texts)} texts but {len(others)} others: give each text one. For "
                "every text with every other, multiply what predict gives."
            )
        self._check_pools("similarity")
        both = self.predict([*texts, *others], batch_size=batch_size, verbose=0)  # [2 * n, H]
        both = both / np.maximum(np.linalg.norm(both, axis=-1, keepdims=True), 1e-12)
        return np.sum(both[: len(texts)] * both[len(texts) :], axis=-1)

    def default_compile_args(self):
        """None: what the vectors shall be near to is the user's to say."""
        raise ValueError(
            "A BertEmbedder has no loss of its own. Compile it with one of yours, or train a "
            "BertClassifier on its backbone."
        )

    def scores(self, x, y=None, batch_size=None):
        """Correlation of cosines with scores of similarity, as in STS.

        Args:
            x: a pair `(texts, others)`.
            y: `[n]` scores.
            batch_size: int; 32 by default.

        Returns:
            A dict of floats: `spearman`, `pearson` and `mean_squared_error`.
        """
        return regression_scores(y, self.similarity(*x, batch_size=batch_size))

    def get_config(self):
        return {
            **super().get_config(),
            "pooling": self.pooling,
            "normalize": self.normalize,
            "layers": self.chosen_layers,
            "combine": self.combine,
        }

    def _check_pools(self, what):
        if self.pooling is None:
            raise ValueError(
                f"With pooling=None a text has a vector for each token, and {what} needs one for "
                'the whole. Take this model with pooling="mean", "max" or "cls", for instance by '
                'BertEmbedder.from_preset(folder, pooling="mean").'
            )


def _places(layers, num_layers):
    """The layers as places in `hidden_states`."""
    if isinstance(layers, (str, int)) or not len(layers):
        raise ValueError(
            f"layers must be a list of layers' numbers, such as [-1, -2, -3, -4]; got {layers!r}."
        )
    for layer in layers:
        if (
            not isinstance(layer, (int, np.integer))
            or not -num_layers <= layer + 1 <= num_layers + 1
        ):
            raise ValueError(
                f"There is no layer {layer!r}: this encoder has layers 0 (the embeddings) to "
                f"{num_layers}, or, counted from the end, -1 to {-num_layers - 1}."
            )
    return [int(layer) % (num_layers + 1) for layer in layers]
