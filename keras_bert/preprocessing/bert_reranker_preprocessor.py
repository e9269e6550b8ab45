"""Preprocessing for reranking."""

import dataclasses
from typing import Any

from keras_bert.messages import check_one_of
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, Predict
from keras_bert.preprocessing.forms import Tensor
from keras_bert.preprocessing.labels import Relevance
from keras_bert.preprocessing.text_rows import PairRows, ops_of, row_by_row
from keras_bert.preprocessing.texts import TextExamples
from keras_bert.saved import registered

ACTIVATIONS = ("sigmoid", "linear")


@registered
@dataclasses.dataclass(eq=False, repr=False)
class BertRerankerPreprocessor(BertPreprocessor):
    """Preprocessor of `BertReranker`: queries with documents in, scores out.

    Each document is paired with its query, `[CLS] query [SEP] document [SEP]`. If a pair is too
    long, its longer text loses tokens first.

    Calls and the other arguments are those of `BertPreprocessor`.

    Args:
        activation: `"sigmoid"` for scores from 0 to 1, or `"linear"` for logits as scores. The
            order of documents is the same.

    Raises:
        ValueError: if the activation is unknown.

    Example:
    >>> from keras_bert import BertRerankerPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "why", "so", "no"]
    >>> preprocessor = BertRerankerPreprocessor(BertTokenizer(words), sequence_length=5)
    >>> x, y = [("why", "so"), ("why", "no")], [1.0, 0.0]
    >>> [(inputs, relevance)] = preprocessor.batches(x, y)
    >>> inputs["token_ids"].tolist(), relevance.tolist()
    ([[[2, 5, 3, 6, 3]], [[2, 5, 3, 7, 3]]], [1.0, 0.0])
    """

    activation: str = "sigmoid"

    max_texts = 3
    labels = Relevance()
    signature = {"query": 1, "documents": 1}

    def __post_init__(self):
        super().__post_init__()
        check_one_of("activation", self.activation, ACTIVATIONS)

    def rows(self, examples: TextExamples, targets: tuple = ()) -> PairRows:
        """Makes `PairRows` of queries and one or two documents for each."""
        if len(examples.columns) < 2:
            raise ValueError(
                "A BertReranker takes pairs, or (query, positive, negative); got single texts."
            )
        queries, *documents = examples.columns
        tokens = (self.tokenized(queries), self.tokenized(row_by_row(documents)))
        extra_inputs = examples.extra_inputs
        return PairRows(self.packer, tokens, extra_inputs, targets, num_sequences=len(documents))

    def answers(self, outputs: Any, rows: PairRows | None = None) -> dict:
        """Turns logits `[B, D]` into `score`, float32: `[B]` with `rows` of pairs, or `[B, D]`."""
        scores = outputs
        if self.activation == "sigmoid":
            scores = ops_of(outputs).sigmoid(outputs)
        if rows is not None and rows.num_sequences == 1:
            scores = scores[:, 0]
        return {"score": scores}

    def serve(self, predict: Predict, query: Tensor, documents: Tensor) -> dict:
        """Scores documents `[n]` for one query, `[1]`, or for a query each, `[n]`."""
        import tensorflow as tf

        num_queries = tf.size(query)
        num_documents = tf.size(documents)
        is_right = (num_queries == 1) | (num_queries == num_documents)
        message = "give one query for all documents, or one for each; got these numbers:"
        checked = tf.debugging.Assert(is_right, [message, num_queries, num_documents])
        with tf.control_dependencies([checked]):
            query = tf.broadcast_to(query, tf.shape(documents))
        rows = self.rows(TextExamples((query, documents)))
        return self.answers(predict(rows.as_batch()[0]), rows)
