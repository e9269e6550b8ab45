"""Preprocessing for text classification and regression."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.messages import check_int, check_number, check_one_each
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.preprocessing.labels import ClassLabels, Numbers, SeveralLabels, as_label_names
from keras_bert.preprocessing.text_rows import Rows, TextRows, WindowRows, ops_of
from keras_bert.preprocessing.texts import TextExamples
from keras_bert.saved import registered


@registered
@dataclasses.dataclass(eq=False, repr=False)
class BertClassifierPreprocessor(BertPreprocessor):
    """Preprocessor of `BertClassifier`: texts and labels in, labels and probabilities out.

    Calls and the other arguments are those of `BertPreprocessor`.

    Args:
        label_names: C strings, the class names; "0", "1", ... by default.
        multi_label: bool, whether a text may have several classes, or none. Labels are then a list
            of names for each text, or `[n, C]` of 0 and 1.
        threshold: float, the lowest probability at which a `multi_label` model assigns a label, or
            a list of them, one for each label; or at which a model of two classes assigns the
            second one. See `BertClassifier.choose_threshold`.
        window_stride: int. A text longer than a sequence is read in overlapping windows that start
            `window_stride` tokens apart. Each window trains on its text's label, by an equal share
            of its weight; the text's logits are the mean of its windows'. None truncates texts.
        regression: bool, whether the model predicts a number for each of the `label_names`, such as
            `["valence", "arousal"]`, instead of classes. Labels are then `[n, C]` numbers. A single
            name is always a regression.

    Raises:
        ValueError: if `label_names` repeat a name, a threshold is not between 0 and 1, or there
            aren't as many as labels, the windows skip tokens, or a regression is `multi_label`.

    Example:
    >>> from keras_bert import BertClassifierPreprocessor, BertTokenizer
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "it", "is"])
    >>> preprocessor = BertClassifierPreprocessor(tokenizer, 6, label_names=["bad", "good"])
    >>> [(inputs, labels)] = preprocessor.batches(["so it is"], ["good"])
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[2, 5, 6, 7, 3]], [1])
    """

    label_names: list[str] | None = None
    multi_label: bool = False
    threshold: float | Sequence[float] = 0.5
    window_stride: int | None = None
    regression: bool = False

    def __post_init__(self):
        super().__post_init__()
        thresholds = [self.threshold]
        if self.multi_label and np.ndim(self.threshold) == 1:
            thresholds = self.threshold = np.asarray(self.threshold).tolist()
        for threshold in thresholds:
            check_number("threshold", threshold, above=0, below=1)
        if self.window_stride is not None:  # with room for [CLS] and [SEP]
            check_int("window_stride", self.window_stride, at_most=self.sequence_length - 2)
        self.label_names = as_label_names(self.label_names)
        if thresholds is self.threshold and self.label_names:
            check_one_each(len(self.label_names), "label_names", threshold=thresholds)
        if self.regression and self.multi_label:
            raise ValueError("A model has several labels or is a regression: leave one out.")

    @property
    def cuts_windows(self) -> bool:
        return self.window_stride is not None

    @property
    def signature(self) -> dict[str, int | None]:
        return {"text": 1 if self.cuts_windows else None}

    @property
    def is_regression(self) -> bool:
        """Whether the model predicts numbers instead of classes."""
        return self.regression or (not self.multi_label and len(self.label_names or ()) == 1)

    @property
    def labels(self) -> ClassLabels | SeveralLabels | Numbers:
        """The rules of labels, by the kind of the model."""
        rules = SeveralLabels if self.multi_label else ClassLabels
        if self.is_regression:
            rules = Numbers
        return rules(self.label_names)

    @property
    def threshold_logit(self) -> float | list[float]:
        """The log-odds of `threshold`."""
        if isinstance(self.threshold, list):
            return list(map(_log_odds, self.threshold))
        return _log_odds(self.threshold)

    def rows(self, examples: TextExamples, targets: tuple = ()) -> TextRows:
        """Makes `TextRows`, which are windows if `window_stride` is set."""
        rows = super().rows(examples, targets)
        if not self.cuts_windows:
            return rows
        return WindowRows.of(rows, self.window_stride)

    def answers(self, outputs: Any, rows: Rows | None = None) -> dict:
        """Turns pooled logits `[B, C]` into labels and probabilities.

        Returns:
            A dict of `probabilities` `[B, C]`; `labels` `[B, C]`, the class names in order; and
            `label` `[B]`, the most probable class, or of two classes the second if its probability
            is above the threshold. With `multi_label`, `is_label` `[B, C]` replaces `label`:
            whether each probability reaches the threshold. A regression returns only `score`,
            `[B]`, and one of several numbers `score`, `[B, C]`, and `labels`.
        """
        if self.is_regression and len(self.label_names) == 1:
            return {"score": outputs[:, 0]}
        ops = ops_of(outputs)
        names = ops.strings(self.label_names)  # [C]
        # Each row of the answers names the classes.
        labels = ops.repeat(names[None], ops.num_rows(outputs), axis=0)
        if self.is_regression:
            return {"score": outputs, "labels": labels}
        if self.multi_label:
            probabilities = ops.sigmoid(outputs)
            is_label = probabilities >= np.array(self.threshold, "float32")
            return {"probabilities": probabilities, "is_label": is_label, "labels": labels}
        probabilities = ops.softmax(outputs)
        best = ops.argmax(self.less_threshold(outputs), axis=-1)
        return {"probabilities": probabilities, "label": ops.take(names, best), "labels": labels}

    def less_threshold(self, outputs: Any) -> Any:
        """Shifts logits so that the class to answer with is the argmax."""
        if len(self.label_names) != 2 or self.multi_label:
            return outputs
        return outputs - np.array([0, self.threshold_logit], "float32")


def _log_odds(probability):
    return math.log(probability / (1 - probability))
