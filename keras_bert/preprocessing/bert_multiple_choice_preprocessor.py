"""Preprocessing for multiple choice."""

from typing import Any

import keras
import numpy.typing as npt

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, Predict
from keras_bert.preprocessing.choice_rows import ChoiceRows, choice_rows, choice_targets
from keras_bert.preprocessing.raw import Examples, Labels, Tensor, listed
from keras_bert.preprocessing.text_rows import LONGEST, ops_of


@keras.saving.register_keras_serializable(package="keras_bert")
class BertMultipleChoicePreprocessor(BertPreprocessor):
    """Preprocessor of `BertMultipleChoice`: questions with choices in, the best choice out.

    Each choice is paired with the context, `[CLS] context [SEP] choice [SEP]`. If a pair is too
    long, its longer text loses tokens first. Questions may differ in the number of their choices.
    Source: Devlin et al. 2019, section 4.4.

    Calls pack texts, as those of `BertPreprocessor`.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int, S, the most tokens of a row, special ones included.
        truncation: see `BertPreprocessor`.

    Example:
    >>> from keras_bert import BertMultipleChoicePreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "shines"]
    >>> preprocessor = BertMultipleChoicePreprocessor(BertTokenizer(words), sequence_length=6)
    >>> question = {"context": "It", "choices": ["rains", "shines"], "label": 1}
    >>> [(inputs, labels)] = preprocessor.batches([question])
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[[2, 5, 3, 6, 3], [2, 5, 3, 7, 3]]], [1])
    """

    packs = None
    signature = {"context": 1, "choices": 2}

    def read(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        with_labels: bool = False,
    ) -> ChoiceRows:
        """Reads questions: dicts of `context`, `choices` and, for training, `label`.

        Args:
            x: a list of dicts, as `read_choices` returns them, or one dict. A choice of "" is
                missing.
            y: `[n]` ints, the index of each right choice, unless the questions have a `label`.
            sample_weight: None.
            with_labels: bool, whether labels are needed.

        Raises:
            ValueError: if something is not a question or has fewer than two choices, or a label
                is not the index of a choice.
        """
        if sample_weight is not None:
            raise ValueError("Questions have no weights: leave sample_weight out.")
        questions = listed(x)
        if y is None and with_labels:
            y = [q.get("label") if isinstance(q, dict) else None for q in questions]
        return choice_rows(questions, self, y)

    def listed(self, x: Examples) -> list[dict]:
        return listed(x)

    def targets(self, labels: Labels) -> Labels:
        """Checks that labels are indices of choices, and returns them."""
        return choice_targets(labels)

    def answers(self, outputs: Any, rows: ChoiceRows | None = None) -> dict:
        """Finds the most probable choice.

        Args:
            outputs: logits `[B, C]`.
            rows: the result of `read`; None for prepared inputs.

        Returns:
            A dict of `label`, int64 `[B]`, the index of the most probable choice, and
            `probabilities`, float32 `[B, C]`. With `rows` it also has `choice`, string `[B]`, the
            text of that choice, and `probabilities` are those of each question's own choices.
        """
        ops = ops_of(outputs)
        label, probabilities = ops.argmax(outputs, axis=-1), ops.softmax(outputs)
        if rows is None:
            return {"probabilities": probabilities, "label": label}
        own = zip(probabilities, rows.texts, strict=True)
        return {
            "probabilities": [row[: len(choices)] for row, choices in own],
            "label": label,
            "choice": [choices[n] for choices, n in zip(rows.texts, label, strict=True)],
        }

    def serve(self, predict: Predict, context: Tensor, choices: Tensor) -> dict:
        """Answers questions: contexts `[B]` and choices `[B, C]`, "" for a missing choice."""
        import tensorflow as tf

        from keras_bert.graph.tokenizer import graph_tokens

        message = "give each context a row of choices"
        same = tf.debugging.assert_equal(tf.shape(context)[0], tf.shape(choices)[0], message)
        with tf.control_dependencies([same]):
            is_there = choices != ""  # [B, C]
        contexts = graph_tokens(self, context)
        ops = contexts.ops
        question, places = ops.nonzero(is_there)
        rows = ChoiceRows(
            self.packer,
            ops.width(choices),
            contexts,
            graph_tokens(self, ops.take_at(choices, question, places)),
            ops.row_sums(is_there),
            places,
        )
        inputs, *_ = rows.batch(ops.arange(ops.size(context)), LONGEST)
        answers = self.answers(predict(inputs))
        return {
            "probabilities": answers["probabilities"] * ops.cast(is_there, "float32"),
            "label": answers["label"],
            "choice": tf.gather(choices, answers["label"], batch_dims=1),
        }
