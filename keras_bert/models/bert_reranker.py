"""BERT that scores how well documents answer a query: a cross-encoder."""

import keras
import numpy as np

from keras_bert.losses import BINARY
from keras_bert.messages import check_all_finite, check_int, shown
from keras_bert.models.explaining import explain
from keras_bert.models.several_texts import SeveralTexts
from keras_bert.preprocessing.labels import Relevance
from keras_bert.preprocessing.texts import text_columns
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.scoring.ranking_scorers import RelevanceScorer
from keras_bert.training.adamw import AdamW


@registered
class BertReranker(SeveralTexts):
    """An encoder with a head that scores documents for a query, read together.

    Use it to put the best of a search's results first: it reads query and document in one sequence,
    which is slower than comparing vectors of a `BertEmbedder`, and more exact. Folders of
    sentence-transformers' cross-encoders load into it, and those of classifiers of two classes, of
    which the second means relevant, such as monoBERT's. Source: Nogueira and Cho 2019.

    | your data, `x` | `y` | loss |
    |---|---|---|
    | pairs (query, document) | relevance from 0 to 1 | the default, binary cross-entropy |
    | pairs (query, document) | a teacher's scores | `compile(loss="mean_squared_error")` |
    | (query, positive, negative) | a teacher's margin | `compile(loss=MarginMeanSquaredError())` |

    Several texts are a list of tuples, or a tuple of lists. A teacher's scores are its logits, and
    its margin is the score of the positive minus that of the negative. The two documents of an
    example stay together in a batch, however the batch is split over replicas or steps.

    Args:
        dropout: float, for the pooled output.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

    Call arguments:
        inputs: a dict of the backbone's inputs, each `[B, D, S]`, D the number of documents of a
            query: 1 for pairs. A document whose `padding_mask` is 0 throughout is missing.

    Returns:
        Logits `[B, D]`, float32; -1e9 for a missing document.

    Example:
    >>> from keras_bert import BertBackbone, BertReranker, BertRerankerPreprocessor, BertTokenizer
    >>> from keras_bert import sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "rained", "it", "shines"]
    >>> preprocessor = BertRerankerPreprocessor(BertTokenizer(words))
    >>> model = BertReranker(BertBackbone(vocabulary_size=9, **sizes.tiny), preprocessor)
    >>> found = model.rank("Who shines?", ["it rained", "it shines", "who"], top_k=2)
    >>> len(found), found[0]["score"] >= found[1]["score"], sorted(found[0])
    (2, True, ['index', 'score', 'text'])
    """

    preprocessor_name = "BertRerankerPreprocessor"
    scorer_class = RelevanceScorer
    published = Published(
        pipeline="text-ranking",
        head="ForSequenceClassification",
        wrapper="CrossEncoder",
        purpose="scores documents for a query",
        example='rank("Who wrote it?", ["a dull book", "Ada did"])',
        texts=("Who wrote it?", "Ada wrote it."),
    )
    name_of_texts = "documents"

    def explain(self, x, *, steps=50, baseline="pad"):
        """Computes how much each word adds to a document's score, as `BertClassifier.explain`.

        Args:
            x: `(query, document)`.
            steps: int, points of the way.
            baseline: `"pad"` or `"mask"`, the token that is blank.

        Returns:
            The dict of `BertClassifier.explain`; `target` is None.

        Raises:
            ValueError: if `x` isn't a query and a document, or the model is quantized.
        """
        if not isinstance(x, (tuple, list)) or len(x) != 2:
            raise ValueError("explain takes a query and a document, as a tuple.")
        return explain(self, x, lambda scores: (None, lambda scores: scores[:, 0]), steps, baseline)

    def rank(self, query, documents, top_k=None, batch_size=None):
        """Ranks documents by their scores for a query.

        Args:
            query: a string.
            documents: a list of strings.
            top_k: int, the number of documents to return; all if there are fewer, or if None.
            batch_size: int; 32 by default.

        Returns:
            A list of dicts, the best document first: `index`, the place in `documents`; `score`, a
            float; and `text`. Documents with equal scores keep their order.

        Raises:
            ValueError: if there is no query or no document, or a score is NaN.
        """
        if not isinstance(query, str) or not query.strip():
            raise ValueError(f"rank takes one query, a non-empty string; got {shown(query)}.")
        [texts] = text_columns(documents if isinstance(documents, str) else list(documents), 1)
        if top_k is not None:
            check_int("top_k", top_k)
        answers = self.answer([(query, text) for text in texts], batch_size)
        scores = np.array([answer["score"] for answer in answers])
        fix = "The training diverged, or the weights are damaged."
        check_all_finite("Scores of documents", scores, fix)
        best = np.argsort(-scores, kind="stable")[:top_k].tolist()
        return [{"index": i, "score": float(scores[i]), "text": texts[i]} for i in best]

    def default_compile_args(self):
        """Returns AdamW at 2e-5 and binary cross-entropy."""
        return {"optimizer": AdamW(2e-5), "loss": keras.losses.BinaryCrossentropy(from_logits=True)}

    @property
    def labels(self):
        return Relevance(is_binary=not self.compiled or isinstance(self.loss, BINARY))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        count = y_pred.shape[-1]
        is_loss = isinstance(self.loss, keras.losses.Loss)
        is_own = is_loss and not type(self.loss).__module__.startswith("keras.")
        takes_index = isinstance(self.loss, keras.losses.SparseCategoricalCrossentropy)
        has_several = y is not None and count not in (1, None)
        if has_several and not (is_own or takes_index) and tuple(y.shape[1:]) != (count,):
            raise ValueError(
                f"This loss takes a label for each document; each query has {count} documents but "
                "one label. (query, positive, negative) train with MarginMeanSquaredError()."
            )
        return super().compute_loss(x, y, y_pred, sample_weight, training)
