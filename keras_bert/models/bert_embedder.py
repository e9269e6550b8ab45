"""BERT that returns vectors: one for a text, or one for each of its tokens."""

import keras
import numpy as np

from keras_bert.layers.layer_combination import LayerCombination, layer_places
from keras_bert.layers.pooling import Pooling
from keras_bert.losses import EmbeddingLoss, check_dims
from keras_bert.messages import (
    check_all_finite,
    check_int,
    check_number,
    check_one_each,
    check_one_of,
    shown,
)
from keras_bert.metrics.nearest import (
    EMBED_AGAIN,
    SIMILARITIES,
    all_similarities,
    check_equal_width,
    comparable,
    nearest,
    similarities,
    vector_array,
)
from keras_bert.models import hard_negatives
from keras_bert.models.bert_task import BertTask
from keras_bert.models.task_parts import head_policy
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.forms import is_raw
from keras_bert.preprocessing.texts import in_parts
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.scoring.ranking_scorers import VectorScorer
from keras_bert.training.adamw import AdamW

_TEXTS = 8192  # tokenized at a time


@registered
class BertEmbedder(BertTask):
    """A vector for each text, pooled from those of its tokens; or the vectors of the tokens.

    Use it for search, clusters and similarity, best from a preset that was trained for them; an
    encoder that was only pre-trained says little about meaning. With `pooling=None` the vectors are
    features for another model, such as a tagger. Folders of sentence-transformers load into it.
    Source: Reimers and Gurevych 2019; layers: Devlin et al. 2019, section 5.3 and table 7.

    `fit` takes texts as a tuple of columns, a list of tuples, a DataFrame or a `tf.data.Dataset`:

    | `x` | `y` | loss |
    |---|---|---|
    | `(anchors, positives)` | | `InBatchNegatives` |
    | `(anchors, positives, negatives, ...)` | | `InBatchNegatives`, with hard negatives |
    | `(texts, others)` | scores | `CoSENT` |
    | texts | classes | `InBatchNegatives`; each epoch draws positives and negatives |
    | texts | vectors, `[n, H]` | your own, such as `"mse"` |

    Losses cover the global batch: an anchor sees the texts of all replicas and of all
    `accumulation_steps`. Larger batches have more negatives.

    Args:
        pooling: `"mean"` or `"max"` of the tokens, or `"cls"`, the first token. None returns the
            vectors of the tokens, 0 at padding; such a model can't be exported.
        normalize: bool, whether each vector is scaled to length 1, so that the dot product of two
            is their cosine.
        layers: list of ints, the layers that make up a token's vector: 0 is the embeddings, 1 to
            `num_layers` are the blocks, -1 is the last block, -2 the one before it. None means the
            last block. Blocks after the highest of these are not computed.
        combine: how several layers become one before pooling: `"concat"`, in the order of `layers`,
            `"sum"`, `"mean"`, or `"weighted"`, a sum with trainable weights, as in ELMo.
        truncate_dim: int, the length that vectors are truncated to, before they are scaled to unit
            length; None for all. Take one of the `matryoshka_dims` that a model was trained with.
        matryoshka_dims: ints, such as `(384, 256, 128)`: also trains vectors truncated to each of
            these lengths (Kusupati et al. 2022). None trains whole vectors. Lengths above
            `truncate_dim` are dropped.
        similarity_fn_name: how vectors are compared by `similarity`, `search`, `scores` and
            `mine_hard_negatives`: `"cosine"`, `"dot"`, `"euclidean"` or `"manhattan"`. Folders of
            sentence-transformers name it; distances are negated, so that more is nearer.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

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
    scorer_class = VectorScorer
    published = Published(
        pipeline="sentence-similarity",
        javascript_pipeline="feature-extraction",
        head="Model",
        wrapper="SentenceTransformer",
        purpose="turns texts into vectors",
        example='similarity(["a fine book"], ["a dull book", "a day"])',
        output="embedding",
    )
    takes_columns = True
    reads = "sequence_output"

    def __init__(
        self,
        backbone,
        pooling="mean",
        normalize=True,
        layers=None,
        combine="concat",
        truncate_dim=None,
        matryoshka_dims=None,
        similarity_fn_name="cosine",
        preprocessor=None,
        dtype=None,
        **kwargs,
    ):
        policy = head_policy(self, backbone, dtype)
        check_one_of("similarity_fn_name", similarity_fn_name, SIMILARITIES)
        inputs = dict(backbone.input)
        pool = Pooling(pooling, normalize, truncate_dim, name="pooling", dtype=policy)
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
        self.truncate_dim = truncate_dim
        self.similarity_fn_name = similarity_fn_name
        check_dims(matryoshka_dims, encoded.shape[-1])
        dims = tuple(dim for dim in matryoshka_dims or () if dim <= vectors.shape[-1])
        self.matryoshka_dims = dims or None

    def __call__(self, inputs, *args, **kwargs):
        if isinstance(inputs, (tuple, list)):  # the texts of an example, one dict of inputs each
            return self.call(inputs, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None, mask=None):
        if isinstance(inputs, (tuple, list)):
            vectors = [self(text, training=training) for text in inputs]
            return keras.ops.stack(vectors, axis=1)  # [B, k, H]
        return super().call(inputs, training=training, mask=mask)

    @property
    def scorer(self):
        scorer = super().scorer
        scorer.similarity = self.similarity_fn_name
        return scorer

    def default_compile_args(self):
        """AdamW at 2e-5; the loss that suits the data, `EmbeddingLoss`."""
        return {"optimizer": AdamW(2e-5), "loss": EmbeddingLoss(20.0, self.matryoshka_dims)}

    def data_to_fit(self, data, arguments):
        self._check_pools()
        return super().data_to_fit(data, arguments)

    def answers_to_score(self, x, batch_size=None, *, y=None, verbose=0):
        """Embeds examples to score, a list of dicts: `embedding`, `[H]` or `[k, H]` of k texts."""
        preprocessor = preprocessor_of(self)
        columns = preprocessor.listed(x).columns
        readers = preprocessor.of_columns(len(columns), y)
        vectors = []
        for reader, column in zip(readers, columns, strict=True):
            rows = reader.read(column)
            vectors.append(self.predictor.rows(rows, batch_size, verbose=verbose))
        vectors = vectors[0] if len(vectors) == 1 else np.stack(vectors, axis=1)
        return [{"embedding": vector} for vector in vectors]

    def encode_query(self, texts, batch_size=None, *, verbose=0):
        """Embeds queries, with the prompt "query" of the preprocessor if it has one.

        Args:
            texts: a text, or a list of n texts.
            batch_size: int; 32 by default.
            verbose: 0, or 1 for a progress bar.

        Returns:
            `[n, H]` float32.
        """
        return self._encoded(texts, "query", batch_size, verbose)

    def encode_document(self, texts, batch_size=None, *, verbose=0):
        """Embeds documents as `encode_query`, with the prompt "document", "passage" or "corpus"."""
        return self._encoded(texts, "document", batch_size, verbose)

    def similarity(self, texts, others, batch_size=None):
        """Computes the similarity of every text with every other, by default their cosine.

        Args:
            texts: a text, n texts, or vectors `[n, H]`.
            others: a text, m texts, or vectors `[m, H]`.
            batch_size: int; 32 by default.

        Returns:
            `[n, m]` float32; cosines are from -1 to 1.

        Raises:
            ValueError: if vectors differ in width or are not finite, or the model doesn't pool.
        """
        texts, others = self._comparable(texts, others, batch_size)
        return all_similarities(texts, others, self.similarity_fn_name)

    def similarity_pairwise(self, texts, others, batch_size=None):
        """Computes the similarity of each text with its counterpart, `[n]` float32.

        Arguments are those of `similarity`, with as many `others` as `texts`.
        """
        texts, others = self._comparable(texts, others, batch_size)
        check_one_each(len(texts), "texts", others=others)
        return similarities(texts, others, self.similarity_fn_name)

    def search(self, queries, documents, top_k=10, batch_size=None):
        """Finds the documents whose vectors are nearest to each query's.

        The search is exact: it compares a query with every document. To search the same documents
        often, pass their vectors.

        Args:
            queries: a text, n texts, or vectors `[n, H]` or `[H]`. Texts are embedded by
                `encode_query`.
            documents: m texts, embedded by `encode_document`, or vectors `[m, H]`, which may be a
                memory-mapped array.
            top_k: int, the number of documents for each query; all if there are fewer.
            batch_size: int; 32 by default.

        Returns:
            `(indices, similarities)`, int64 and float32 `[n, top_k]`, the nearest first. Of equal
            ones, the document with the lower index comes first.

        Raises:
            ValueError: as `similarity`.
        """
        check_int("top_k", top_k)
        if is_raw(queries):
            queries = self._encoded(queries, "query", batch_size)
        queries = vector_array(queries)
        if isinstance(documents, (list, tuple, np.ndarray)) and not len(documents):
            documents = np.empty((0, queries.shape[1]))
        elif is_raw(documents):
            documents = self._encoded(documents, "document", batch_size)
        return nearest(queries, documents, top_k, self.similarity_fn_name)

    def mine_hard_negatives(
        self,
        pairs,
        corpus=None,
        *,
        num_negatives=3,
        range_min=0,
        relative_margin=None,
        batch_size=None,
        verbose=0,
    ):
        """Adds to pairs the texts nearest to each query by this model, excluding its positives.

        Some of the nearest may be right answers that nobody marked: a margin leaves them out.
        Equals sentence-transformers' `mine_hard_negatives`, but a query is no negative of itself.
        Source: Moreira et al. 2024 (NV-Retriever), who do best with `relative_margin=0.05`.

        Args:
            pairs: `(queries, positives)`, as for `fit`. A query may be in several pairs.
            corpus: extra candidates; all positives are candidates, too. None for these alone.
            num_negatives: int, the number of negatives of a query.
            range_min: int, the number of nearest texts to skip. Positives and texts within the
                margin don't count.
            relative_margin: float, how far below the similarity of the query's positive, or its
                farthest one, that of a negative must be, as a share of it; None for no limit.
            batch_size: int; 32 by default.
            verbose: 0, or 1 for progress bars.

        Returns:
            Columns of texts for `fit`: `(queries, positives, negatives)`. A query with too few
            negatives has fewer examples; a warning counts them.

        Raises:
            ValueError: if a text is empty, a number is out of range, or there are no examples.

        Example:
        >>> from keras_bert import BertBackbone, BertEmbedderPreprocessor, BertTokenizer, sizes
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "when", "he", "now"]
        >>> reader = BertEmbedderPreprocessor(BertTokenizer(words), 8)
        >>> model = BertEmbedder(BertBackbone(9, **sizes.tiny), preprocessor=reader)
        >>> model.mine_hard_negatives((["who", "when"], ["he", "now"]), num_negatives=1)
        (['who', 'when'], ['he', 'now'], ['now', 'he'])
        """
        check_int("num_negatives", num_negatives)
        if relative_margin is not None:
            check_number("relative_margin", relative_margin)
        positives_of, texts = hard_negatives.pairs_in_corpus(pairs, corpus)
        name = f"range_min, in a corpus of {len(texts)} texts,"
        check_int(name, range_min, at_least=0, at_most=max(0, len(texts) - 2))
        most = max(map(len, positives_of.values()))
        least = num_negatives if relative_margin is None else 10 * num_negatives
        queries = self.encode_query([*positives_of], batch_size, verbose=verbose)
        documents = self.encode_document(texts, batch_size, verbose=verbose)
        possible = hard_negatives.candidates(
            queries,
            documents,
            [*positives_of.values()],
            range_min + least + 2 * most,
            relative_margin,
            self.similarity_fn_name,
        )
        mined = []
        for query, numbers in zip(positives_of, possible, strict=True):
            near = [number for number in numbers if texts[number] != query]
            mined.append(near[range_min : range_min + num_negatives])
        return hard_negatives.triplets(positives_of, texts, mined, num_negatives)

    def _check_pools(self):
        if self.pooling is None:
            raise ValueError(
                "With pooling=None a text has a vector for each token, and this needs one for the "
                'whole. Make the model with pooling="mean", "max" or "cls", for instance by '
                'BertEmbedder.from_preset(folder, pooling="mean").'
            )

    def _encoded(self, texts, kind, batch_size, verbose=0):
        """Embeds texts with the prompt of a kind, or None for the default one."""
        if isinstance(texts, dict) or not is_raw(texts):
            raise ValueError(f"Give a text or a list of texts; got {shown(texts)}.")
        self._check_pools()
        if isinstance(texts, tuple):  # several texts, not one example
            texts = list(texts)
        preprocessor = preprocessor_of(self)
        preprocessor = preprocessor.variants().get(kind, preprocessor)
        vectors = []
        for part in in_parts(preprocessor.listed(texts), _TEXTS):
            rows = preprocessor.read(part)
            vectors.append(self.predictor.rows(rows, batch_size, verbose=verbose))
        return np.concatenate(vectors)

    def _comparable(self, texts, others, batch_size):
        both = []
        for x in (texts, others):
            vectors = self._encoded(x, None, batch_size) if is_raw(x) else vector_array(x)
            check_all_finite("Vectors", vectors, EMBED_AGAIN)
            both.append(comparable(vectors, self.similarity_fn_name))
        check_equal_width(both[0].shape[1], both[1].shape[1])
        return both

    def own_arguments(self):
        return {**super().own_arguments(), "layers": self.chosen_layers}
