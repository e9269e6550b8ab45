"""Scorers of rankings: of documents by relevance, and of texts by their vectors."""

from collections import defaultdict

import numpy as np

from keras_bert.messages import logger
from keras_bert.metrics.labels import regression_scores
from keras_bert.metrics.nearest import comparable, nearest, similarities
from keras_bert.metrics.retrieval import retrieval_scores
from keras_bert.preprocessing.embedding_rows import score_array
from keras_bert.preprocessing.forms import as_arrays, one_each
from keras_bert.scoring.scorer import Scorer


class RelevanceScorer(Scorer):
    """MRR@10, NDCG@10 and MAP of the documents of each query, as means over queries.

    Pairs with the same query belong together. A document is relevant if its relevance is above 0;
    NDCG takes the relevance as the gain. See `retrieval_scores`. A query without a relevant
    document counts as 0, with a warning.
    """

    names = ("mrr@10", "ndcg@10", "map")
    reads_examples = True

    def check(self, x, y=None):
        super().check(x, y)
        columns = self.preprocessor.listed(x).columns
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
        queries = self.preprocessor.listed(x).columns[0]
        labels = self.preprocessor.targets(y)
        relevance = defaultdict(dict)
        scores = defaultdict(dict)
        given_scores = defaultdict(dict)  # of the order in which documents were given
        for index, query in enumerate(queries):
            document = f"{index:012d}"  # ties are ranked in the order of these strings
            relevance[query][document] = float(labels[index])
            scores[query][document] = answers[index]["score"]
            given_scores[query][document] = -index
        irrelevant = [query for query, judged in relevance.items() if max(judged.values()) <= 0]
        if irrelevant:
            logger.warning(
                f"{len(irrelevant)} of {len(relevance)} queries have no relevant document and "
                f"count as 0, the first {irrelevant[0]!r}. Remove them to score only the others."
            )
        all_scores = retrieval_scores(relevance, scores, k=10)
        mrr = all_scores["mrr@10"]
        given_mrr = retrieval_scores(relevance, given_scores, k=10)["mrr@10"]
        if mrr < given_mrr < 1:  # 1 if the relevant ones are given first
            logger.warning(
                f"The model ranks worse than the order in which documents were given: mrr@10 "
                f"{mrr:.3f}, not {given_mrr:.3f}. If that is a search's order, don't rerank it "
                "with this model: train on more queries, with documents that the search finds as "
                "the irrelevant ones."
            )
        return {name: all_scores[name] for name in self.names}

    def table(self, answers):
        if np.ndim(answers[0]["score"]):  # of the documents of each example
            return None
        rows = [[answer["score"]] for answer in answers]
        return ["score"], rows


class VectorScorer(Scorer):
    """Scores of the similarities of texts, by default their cosines.

    Answers have an `embedding`: `[k, H]`, the vectors of an example's k texts, or `[H]`. Pairs with
    scores have `spearman`, `pearson` and `mean_squared_error` of their cosines. For pairs, `mrr@10`
    and `accuracy` tell how well each anchor finds its own positive among all. For examples with
    negatives, `accuracy` is the share whose positive is nearer than all of its own negatives; for
    texts with classes, the share whose nearest text has the same class.
    """

    needs = "pairs of texts, (texts, others), or texts with their classes as y"
    reads_examples = True
    similarity = "cosine"  # of the task; see `BertEmbedder`

    def has_labels(self, x, y=None):
        return y is not None or len(self.preprocessor.listed(x).columns) > 1

    def names_for(self, x, y=None):
        num_texts = len(self.preprocessor.listed(x).columns)
        if y is None and num_texts == 2:
            return ("mrr@10", "accuracy")
        if y is None or num_texts == 1:
            return ("accuracy",)
        return ("spearman", "pearson", "mean_squared_error")

    def check(self, x, y=None):
        super().check(x, y)
        columns = self.preprocessor.listed(x).columns
        if y is not None and len(columns) > 1:
            score_array(as_arrays(y), columns)

    def score(self, answers, x, y=None):
        vectors = [answer["embedding"] for answer in answers]
        vectors = comparable(vectors, self.similarity)
        if y is not None:
            y = one_each(np.asarray(as_arrays(y)))
        if vectors.ndim == 2:
            # The nearest text is usually the text itself, but may be an equal one.
            neighbors, _ = nearest(vectors, vectors, 2, self.similarity)
            is_itself = neighbors[:, 0] == np.arange(len(vectors))
            others = np.where(is_itself, neighbors[:, -1], neighbors[:, 0])
            classes = y.astype(str)
            is_right = classes[others] == classes
            return {"accuracy": float(is_right.mean())}
        scores = similarities(vectors[:, :1], vectors[:, 1:], self.similarity)  # [n, k - 1]
        if y is not None:
            return regression_scores(y, scores[:, 0])
        if vectors.shape[1] > 2:
            is_nearest = scores[:, 0] > scores[:, 1:].max(axis=1)
            return {"accuracy": float(is_nearest.mean())}
        _, best_scores = nearest(vectors[:, 0], vectors[:, 1], 10, self.similarity)
        tolerance = 1e-6 * np.maximum(1, np.abs(scores))  # equal vectors share the better rank
        ranks = 1 + np.sum(best_scores > scores + tolerance, axis=1)
        reciprocal = np.where(ranks <= 10, 1 / ranks, 0)
        is_first = ranks == 1
        return {"mrr@10": float(reciprocal.mean()), "accuracy": float(is_first.mean())}
