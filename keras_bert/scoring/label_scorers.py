"""Scorers of labels: of texts, of choices, and of words."""

from pathlib import Path

import numpy as np

from keras_bert.metrics.entities import entity_scores
from keras_bert.metrics.labels import classification_scores, multi_label_scores, regression_scores
from keras_bert.preprocessing.class_labels import numbers_of
from keras_bert.preprocessing.forms import listed
from keras_bert.preprocessing.tagged_rows import holds_words, words_and_documents
from keras_bert.readers.conll import write_conll
from keras_bert.scoring.scorer import Scorer


class ClassScorer(Scorer):
    """Accuracy, F1 and Matthews correlation; F1 of several labels; or correlations of numbers."""

    @property
    def names(self):
        if self.preprocessor.is_regression:
            return ("spearman", "pearson")
        if self.preprocessor.multi_label:
            return ("micro_f1", "macro_f1", "accuracy", "exact_match")
        return ("accuracy", "f1", "mcc")

    def score(self, answers, x, y=None):
        labels = self.preprocessor.targets(y)
        if self.preprocessor.multi_label:
            return multi_label_scores(labels, np.stack([a["is_label"] for a in answers]))
        labels = _one_each(labels)
        if self.preprocessor.is_regression:
            return regression_scores(labels, np.array([answer["score"] for answer in answers]))
        known = numbers_of(self.preprocessor.label_names)
        numbers = [known[answer["label"]] for answer in answers]
        return classification_scores(labels, np.array(numbers), len(known))

    def table(self, answers):
        """Returns the score, or the label and probabilities; several labels with "|" between."""
        if self.preprocessor.is_regression:
            return ["score"], ([answer["score"]] for answer in answers)
        names = self.preprocessor.label_names
        rows = ([_label(answer, names), *answer["probabilities"]] for answer in answers)
        return ["label", *names], rows


def _one_each(labels):
    """Returns labels `[n]` of those that `fit` takes: `[n]`, `[n, 1]`, or one-hot, `[n, C]`."""
    labels = np.asarray(labels).reshape(len(labels), -1)
    return labels.argmax(axis=-1) if labels.shape[1] > 1 else labels[:, 0]


def _label(answer, names):
    if "label" in answer:
        return answer["label"]
    pairs = zip(names, answer["is_label"], strict=True)
    return "|".join(name for name, is_label in pairs if is_label)


class ChoiceScorer(Scorer):
    """The share of questions whose most probable choice is the right one, `accuracy`."""

    names = ("accuracy",)

    def has_labels(self, x, y=None):
        return y is not None or all(isinstance(q, dict) and "label" in q for q in listed(x))

    def score(self, answers, x, y=None):
        if y is None:
            y = [question["label"] for question in listed(x)]
        labels = _one_each(self.preprocessor.targets(y))
        scores = classification_scores(labels, np.array([answer["label"] for answer in answers]))
        return {"accuracy": scores["accuracy"]}

    def table(self, answers):
        """Returns the label and the probability of each choice."""
        most = max(len(answer["probabilities"]) for answer in answers)
        header = ["label", *(f"probability{number}" for number in range(most))]
        return header, ([int(answer["label"]), *answer["probabilities"]] for answer in answers)


class TagScorer(Scorer):
    """Precision, recall and F1 of entities, as `conlleval` computes them."""

    names = ("f1", "precision", "recall", "accuracy")

    def check(self, x, y=None):
        super().check(x, y)
        if not holds_words(x):
            raise ValueError("scores needs words, a list of sentences; texts have no tags.")

    def score(self, answers, x, y=None):
        return entity_scores(self._tags(y), [answer["label"] for answer in answers])

    def write(self, folder, split, answers, x, y=None):
        """Writes `{split}_predictions.txt` for `conlleval`: word, true tag and predicted tag.

        Answers to raw texts are written as lines of JSON.
        """
        if not holds_words(x):
            super().write(folder, split, answers, x, y)
            return
        tags = [] if y is None else [self._tags(y)]
        words, _ = words_and_documents(x)
        path = Path(folder) / f"{split}_predictions.txt"
        write_conll(path, words, *tags, [answer["label"] for answer in answers])

    def _tags(self, labels):
        names = self.preprocessor.label_names
        return [[names[number] for number in row] for row in self.preprocessor.targets(labels)]
