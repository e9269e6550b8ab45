"""Preprocessing for multiple choice."""

from typing import Any

import keras
import numpy as np

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, Predict
from keras_bert.preprocessing.choice_examples import check_choices, checked_places, choice_targets
from keras_bert.preprocessing.raw import Examples, Labels, Tensor, listed
from keras_bert.preprocessing.text_rows import PairRows, ops_of


@keras.saving.register_keras_serializable(package="keras_bert")
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

    packs = None
    signature = {"context": 1, "choices": 2}

    def listed(self, x: Examples) -> list[dict]:
        questions = listed(x)
        check_choices(questions)
        return questions

    def labels_in(self, examples: list[dict]) -> Labels:
        return [question.get("label") for question in examples]

    def rows_of(self, examples: list[dict], targets: tuple) -> PairRows:
        texts = [list(example["choices"]) for example in examples]
        most = max(map(len, texts))
        padded = [[*own, *[""] * (most - len(own))] for own in texts]
        is_there = np.array([[*map(bool, own)] for own in padded])
        if targets:
            checked_places(targets[0].reshape(-1), is_there)
        contexts = self.tokenized([example["context"] for example in examples])
        choices = self.tokenized([text for own in padded for text in own])
        return PairRows(
            self.packer,
            (contexts, choices),
            targets=targets,
            num_sequences=most,
            is_there=is_there,
            texts=texts,
        )

    def targets(self, labels: Labels) -> Labels:
        """Checks that labels are indices of choices, and returns them."""
        return choice_targets(labels)

    def answers(self, outputs: Any, rows: PairRows | None = None) -> dict:
        """Finds the most probable choice by logits `[B, C]`.

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

        message = "give each context a row of choices"
        same = tf.debugging.assert_equal(tf.shape(context)[0], tf.shape(choices)[0], message)
        with tf.control_dependencies([same]):
            is_there = choices != ""  # [B, C]
        columns = self.tokenized(context), self.tokenized(tf.reshape(choices, [-1]))
        most = tf.shape(choices, tf.int64)[1]
        rows = PairRows(self.packer, columns, num_sequences=most, is_there=is_there)
        [inputs] = rows.as_batch()
        answers = self.answers(predict(inputs))
        return {
            "probabilities": answers["probabilities"] * tf.cast(is_there, "float32"),
            "label": answers["label"],
            "choice": tf.gather(choices, answers["label"], batch_dims=1),
        }
