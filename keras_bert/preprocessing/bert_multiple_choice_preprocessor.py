"""Preprocessing for multiple choice."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, Predict
from keras_bert.preprocessing.forms import Examples, Labels, Tensor, listed
from keras_bert.preprocessing.labels import Choices
from keras_bert.preprocessing.text_rows import PairRows, ops_of
from keras_bert.saved import registered

_QUESTION = (
    "A question must be a dict of a string and of two or more strings, {'context': ..., "
    "'choices': [..., ...]}"
)


@registered
class BertMultipleChoicePreprocessor(BertPreprocessor):
    """Preprocessor of `BertMultipleChoice`: questions with choices in, the best choice out.

    Questions are dicts of `context`, `choices` and, for training, `label`, the index of the right
    choice, as `read_choices` returns them; the labels may also be apart. Questions may differ in
    the number of their choices, at least two; a choice of "" is missing. Each choice is paired with
    the context, `[CLS] context [SEP] choice [SEP]`. If a pair is too long, its longer text loses
    tokens first. Source: Devlin et al. 2019, section 4.4.

    Calls and arguments are those of `BertPreprocessor`.

    Example:
    >>> from keras_bert import BertMultipleChoicePreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "shines"]
    >>> preprocessor = BertMultipleChoicePreprocessor(BertTokenizer(words), sequence_length=6)
    >>> question = {"context": "It", "choices": ["rains", "shines"], "label": 1}
    >>> [(inputs, labels)] = preprocessor.batches([question])
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[[2, 5, 3, 6, 3], [2, 5, 3, 7, 3]]], [1])
    """

    labels = Choices()
    signature = {"context": 1, "choices": 2}

    def listed(self, x: Examples) -> list[dict]:
        return listed(x, _is_question, _QUESTION)

    def read(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        with_labels: bool = False,
    ) -> PairRows:
        """Reads questions, whose labels may be apart, as rows; see `BertPreprocessor`."""
        questions = self.listed(x)
        if y is None and with_labels:
            y = [question.get("label") for question in questions]
        return super().read(questions, y, sample_weight)

    def rows(self, examples: list[dict], targets: tuple = ()) -> PairRows:
        texts = [list(example["choices"]) for example in examples]
        most = max(map(len, texts))
        padded = np.full((len(texts), most), "", object)
        for row, choices in zip(padded, texts, strict=True):
            row[: len(choices)] = choices
        is_there = padded != ""
        if targets:
            self.labels.among(targets[0], is_there)
        contexts = self.tokenized([example["context"] for example in examples])
        choices = self.tokenized(padded.ravel().tolist())
        return PairRows(
            self.packer,
            (contexts, choices),
            targets=targets,
            num_sequences=most,
            is_there=is_there,
            texts=texts,
        )

    def answers(self, outputs: Any, rows: PairRows | None = None) -> dict:
        """Finds the most probable choice by logits `[B, C]`.

        Returns:
            A dict of `label`, int64 `[B]`, the index of the most probable choice, and
            `probabilities`, float32 `[B, C]`. With `rows` it also has `choice`, string `[B]`, the
            text of that choice, and `probabilities` are those of each question's own choices.
        """
        ops = ops_of(outputs)
        answers = {"probabilities": ops.softmax(outputs), "label": ops.argmax(outputs, axis=-1)}
        if rows is None:
            return answers
        probabilities = []
        chosen = []
        for index, choices in enumerate(rows.texts):
            probabilities.append(answers["probabilities"][index, : len(choices)])
            chosen.append(choices[answers["label"][index]])
        return answers | {"probabilities": probabilities, "choice": chosen}

    def serve(self, predict: Predict, context: Tensor, choices: Tensor) -> dict:
        """Answers questions: contexts `[B]` and choices `[B, C]`, "" for a missing choice."""
        import tensorflow as tf

        num_contexts = tf.shape(context)[0]
        num_rows = tf.shape(choices)[0]
        message = "give each context a row of choices"
        checked = tf.debugging.assert_equal(num_contexts, num_rows, message)
        with tf.control_dependencies([checked]):
            choices = tf.identity(choices)
        is_there = choices != ""  # [B, C]
        contexts = self.tokenized(context)
        flat = self.tokenized(tf.reshape(choices, [-1]))
        most = tf.shape(choices, tf.int64)[1]
        rows = PairRows(self.packer, (contexts, flat), num_sequences=most, is_there=is_there)
        [inputs] = rows.as_batch()
        answers = self.answers(predict(inputs))
        answers["probabilities"] *= tf.cast(is_there, "float32")
        answers["choice"] = tf.gather(choices, answers["label"], batch_dims=1)
        return answers


def _is_question(example):
    choices = example.get("choices") if isinstance(example, dict) else None
    if not isinstance(choices, (list, tuple, np.ndarray)):
        return False
    are_strings = all(isinstance(text, str) for text in (example.get("context"), *choices))
    return are_strings and sum(map(bool, choices)) > 1
