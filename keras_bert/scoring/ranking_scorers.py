"""Scorers of rankings: of documents by relevance, and of texts by their vectors."""

import numpy as np

from keras_bert.messages import logger
from keras_bert.metrics.embeddings import pair_scores
from keras_bert.metrics.retrieval import retrieval_scores
from keras_bert.preprocessing.embedding_rows import score_array
from keras_bert.preprocessing.forms import as_arrays, one_each
from keras_bert.preprocessing.texts import text_columns, text_examples
from keras_bert.scoring.scorer import Scorer


class RelevanceScorer(Scorer):
    """MRR@10, NDCG@10 and MAP of the documents of each query, as means over queries.

    Pairs with the same query belong together. A document is relevant if its relevance is above 0;
    NDCG takes the relevance as the gain. See `retrieval_scores`. A query without a relevant
    document counts as 0, with a warning.
    """

    names = ("mrr@10", "ndcg@10", "map")

    def check(self, x, y=None):
        super().check(x, y)
        columns = text_examples(x, self.preprocessor.max_texts).columns
        labels = self.preprocessor.targets(y)
        if len(columns) != 2 or labels.ndim != 1:
            raise ValueError(
                "scores takes pairs (query, document) with a relevance each; got "
                f"{len(columns)} columns of texts and labels of shape {labels.shape}."
            )
        if labels.max() <= 0:
            raise ValueError(
                f"None of the {len({*columns[0]}):,} queries has a relevant document, one with a "
                "relevance above 0."
            )

    def score(self, answers, x, y=None):
        queries = text_examples(x, self.preprocessor.max_texts).columns[0]
        relevance, scores = {}, {}
        examples = zip(queries, self.preprocessor.targets(y), answers, strict=True)
        for number, (query, label, answer) in enumerate(examples):
            document = f"{number:012d}"  # in the order of strings, which decides ties
            relevance.setdefault(query, {})[document] = float(label)
            scores.setdefault(query, {})[document] = answer["score"]
        without = [query for query, labels in relevance.items() if max(labels.values()) <= 0]
        if without:
            logger.warning(
                f"{len(without)} of {len(relevance)} queries have no relevant document and count "
                f"as 0, the first {without[0]!r}. Remove them to score the others alone."
            )
        all_scores = retrieval_scores(relevance, scores, k=10)
        return {name: all_scores[name] for name in self.names}

    def table(self, answers):
        if np.ndim(answers[0]["score"]):  # of the documents of each example
            return None
        return ["score"], ([answer["score"]] for answer in answers)


class VectorScorer(Scorer):
    """Scores of the cosines of texts.

    Answers have an `embedding`: `[k, H]`, the vectors of an example's k texts, or `[H]`. Pairs with
    scores have `spearman`, `pearson` and `mean_squared_error` of their cosines. For pairs, `mrr@10`
    and `accuracy` tell how well each anchor finds its own positive among all. For examples with
    negatives, `accuracy` is the share whose positive is nearer than all of its own negatives; for
    texts with classes, the share whose nearest text has the same class.
    """

    def has_labels(self, x, y=None):
        return y is not None or len(text_columns(x)) > 1

    def names_for(self, x, y=None):
        texts = len(text_columns(x))
        if y is None:
            return ("accuracy",) if texts > 2 else ("mrr@10", "accuracy")
        return ("accuracy",) if texts == 1 else ("spearman", "pearson", "mean_squared_error")

    def check(self, x, y=None):
        if not self.has_labels(x, y):
            raise ValueError(
                "scores needs pairs of texts, (texts, others), or texts with their classes as y."
            )
        columns = text_columns(x)
        if y is not None and len(columns) > 1:
            score_array(as_arrays(y), columns)

    def score(self, answers, x, y=None):
        vectors = np.stack([answer["embedding"] for answer in answers])
        return pair_scores(vectors, None if y is None else one_each(np.asarray(as_arrays(y))))
