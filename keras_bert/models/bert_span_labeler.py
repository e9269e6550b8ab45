"""BERT that answers questions with spans of a text."""

from collections.abc import Callable

import keras
import numpy as np

from keras_bert.layers.dense_and_norms import dense
from keras_bert.layers.dropout import Dropout
from keras_bert.models.bert_task import BertTask
from keras_bert.models.task_parts import score_policy
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.scoring.span_scorers import SpanScorer
from keras_bert.training.adamw import AdamW


@registered
class BertSpanLabeler(BertTask):
    """An encoder with a head that finds the start and end of an answer in its context.

    `fit` and `evaluate` take questions as `read_squad` returns them; `answer` takes questions
    without answers and finds spans of their contexts. Contexts may have any length, because they
    are read in overlapping windows. See `BertSpanLabelerPreprocessor`.

    Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert run_squad.py.

    Args:
        dropout: float, for the vectors of tokens; Google's code has none, DistilBERT's 0.1.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

    Returns:
        A dict of logits, `start` and `end`, `[B, S]` float32. Padding has logits too, and takes
        part in the softmax of the loss, as in Google's BERT.

    Example:
    >>> from keras_bert import BertBackbone, BertSpanLabeler, BertSpanLabelerPreprocessor
    >>> from keras_bert import BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "where", "?", "in", "paris"]
    >>> preprocessor = BertSpanLabelerPreprocessor(BertTokenizer(words))
    >>> model = BertSpanLabeler(BertBackbone(vocabulary_size=9, **sizes.tiny), preprocessor)
    >>> found = model.answer({"question": "Where?", "context": "In Paris"})
    >>> found["answer"] == "In Paris"[found["start"] : found["end"]]
    True
    """

    preprocessor_name = "BertSpanLabelerPreprocessor"
    scorer_class = SpanScorer
    published = Published(
        pipeline="question-answering",
        javascript_pipeline="question-answering",
        head="ForQuestionAnswering",
        settings_key="keras_bert_span_labeler",
        settings=("document_stride", "max_question_length", "max_answer_length", "null_threshold"),
        purpose="finds the answer to a question in a text",
        example='answer({"question": "Who wrote it?", "context": "Ada wrote it."})',
        texts=("Who wrote it?", "Ada wrote it."),
    )
    reads = "token_vectors"

    predict: Callable[..., dict[str, np.ndarray]]

    def __init__(self, backbone, preprocessor=None, dropout=0.0, dtype=None, **kwargs):
        policy = score_policy(self, backbone, dtype)
        output_dropout = Dropout(dropout, name="output_dropout", dtype=policy)
        head = dense(2, "logits", dtype=policy)
        inputs = dict(backbone.input)
        encoded = backbone.token_vectors(inputs)  # [B, S, H]
        logits = keras.ops.cast(head(output_dropout(encoded)), "float32")  # [B, S, 2]
        outputs = {"start": logits[:, :, 0], "end": logits[:, :, 1]}
        super().__init__(inputs, outputs, backbone, preprocessor, dtype, **kwargs)
        self.head = head
        self.dropout = dropout

    def default_compile_args(self):
        """Returns AdamW at 3e-5, the mean cross-entropy of start and end, and accuracies."""
        losses = {}
        metrics = {}
        for name in self.output:
            losses[name] = keras.losses.SparseCategoricalCrossentropy(from_logits=True, name=name)
            metrics[name] = [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
        return {
            "optimizer": AdamW(3e-5),
            "loss": losses,
            "loss_weights": {"start": 0.5, "end": 0.5},
            "metrics": metrics,
        }
