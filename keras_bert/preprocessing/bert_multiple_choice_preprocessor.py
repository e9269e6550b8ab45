"""Preprocessing for multiple choice."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.files.whole import whole_file
from keras_bert.metrics.labels import classification_scores
from keras_bert.preprocessing.batches import Batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.preprocessing.choice_rows import ChoiceRows, choice_rows
from keras_bert.preprocessing.choice_rows import with_labels as labeled
from keras_bert.preprocessing.class_labels import choice_targets
from keras_bert.preprocessing.raw import Examples, Labels, is_dataset
from keras_bert.preprocessing.text_rows import LONGEST, ops_of

if TYPE_CHECKING:
    import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_bert")
class BertMultipleChoicePreprocessor(BertPreprocessor):
    """Preprocessor of `BertMultipleChoice`: questions with choices in, the best choice out.

    Each choice is paired with the context, `[CLS] context [SEP] choice [SEP]`. If a pair is too
    long, its longer text loses tokens first. Questions may differ in the number of their choices.
    Source: Devlin et al. 2019, section 4.4.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int, S.
        truncation: see `BertPreprocessor`.

    Call arguments:
        texts: `[B]` strings.
        pairs: `[B]` strings, the second text of each; or None.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask`, each `[B, S]` int32.

    Example:
    >>> from keras_bert import BertMultipleChoicePreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "shines"]
    >>> preprocessor = BertMultipleChoicePreprocessor(BertTokenizer(words), sequence_length=6)
    >>> question = {"context": "It", "choices": ["rains", "shines"], "label": 1}
    >>> [(inputs, labels)] = preprocessor.batches([question])
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[[2, 5, 3, 6, 3], [2, 5, 3, 7, 3]]], [1])
    """

    score_names = ("accuracy",)

    @property
    def signature(self) -> dict[str, int | None]:
        return {"context": 1, "choices": 2}

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
        questions = _questions(x)
        if y is not None:
            questions = labeled(questions, y)
        return choice_rows(questions, self, with_labels or y is not None)

    def parts(self, x: Examples, size: int = 1024) -> Iterator[list[dict]]:
        """Yields questions part by part."""
        questions = _questions(x)
        for start in range(0, max(len(questions), 1), size):
            yield questions[start : start + size]

    def batched(self, rows: ChoiceRows, batching: Batching) -> Batches:
        """Makes batches of questions; `tokens_per_batch` counts the tokens of all choices."""
        if batching.tokens_per_batch is not None:
            tokens = batching.tokens_per_batch // rows.num_choices
            batching = dataclasses.replace(batching, tokens_per_batch=tokens)
        return super().batched(rows, batching)

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

    def serve(
        self,
        predict: Callable[[dict[str, tf.Tensor]], tf.Tensor],
        context: tf.Tensor,
        choices: tf.Tensor,
    ) -> dict:
        """Answers questions: contexts `[B]` and choices `[B, C]`, "" for a missing choice."""
        import tensorflow as tf

        from keras_bert.graph.graph_tokens import graph_tokens

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
        found = self.answers(predict(inputs))
        return {
            "probabilities": found["probabilities"] * ops.cast(is_there, "float32"),
            "label": found["label"],
            "choice": tf.gather(choices, found["label"], batch_dims=1),
        }

    def scores(self, answers: list, x: Examples, y: Labels | None = None) -> dict:
        """Computes the accuracy."""
        if not self.has_labels(x, y):
            raise ValueError("scores needs labels: give y, or questions with a 'label'.")
        y = [question["label"] for question in _questions(x)] if y is None else self.targets(y)
        scores = classification_scores(np.asarray(y), np.array([a["label"] for a in answers]))
        return {"accuracy": scores["accuracy"]}

    def has_labels(self, x: Examples, y: Labels | None = None) -> bool:
        """Whether there is a label for each question."""
        return y is not None or all("label" in question for question in _questions(x))

    def write_answers(
        self,
        folder: str | os.PathLike,
        split: str,
        answers: list,
        x: Examples,
        y: Labels | None = None,
    ) -> None:
        """Writes `{split}_predictions.tsv`: index, label and the probability of each choice."""
        most = max(len(answer["probabilities"]) for answer in answers)
        with whole_file(Path(folder) / f"{split}_predictions.tsv") as file:
            header = (f"probability{number}" for number in range(most))
            print("index", "label", *header, sep="\t", file=file)
            for index, answer in enumerate(answers):
                values = (f"{value:.6g}" for value in answer["probabilities"])
                print(index, answer["label"], *values, sep="\t", file=file)


def _questions(x):
    if not is_dataset(x):
        x = [x] if isinstance(x, dict) else x
    is_text = is_dataset(x) or isinstance(x, (str, bytes)) or not isinstance(x, (list, tuple))
    if is_text or (len(x) and isinstance(x[0], (str, bytes))):
        raise ValueError(
            "A BertMultipleChoice takes questions, dicts of 'context' and 'choices', as "
            "read_choices returns them; got texts."
        )
    return list(x)
