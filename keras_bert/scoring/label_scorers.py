"""Scorers of labels: of texts, of choices, and of words."""

import itertools
from pathlib import Path

import numpy as np

from keras_bert.metrics.entities import entity_scores
from keras_bert.metrics.labels import classification_scores, multi_label_scores, regression_scores
from keras_bert.preprocessing.labels import class_numbers
from keras_bert.preprocessing.tagged_rows import Sentences
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
            return multi_label_scores(labels, _column(answers, "is_label"))
        if self.preprocessor.is_regression:
            return regression_scores(labels, _column(answers, "score"))
        classes = self.preprocessor.labels.known
        predictions = [classes[answer["label"]] for answer in answers]
        return classification_scores(class_numbers(labels), predictions, len(classes))

    def table(self, answers):
        """Returns the scores, or the label and probabilities; several labels with "|" between."""
        names = self.preprocessor.label_names
        rows = []
        if self.preprocessor.is_regression:
            for answer in answers:
                rows.append(np.ravel(answer["score"]).tolist())
            if len(names) == 1:
                names = ["score"]
            return names, rows
        for answer in answers:
            if self.preprocessor.multi_label:
                label = "|".join(itertools.compress(names, answer["is_label"]))
            else:
                label = answer["label"]
            rows.append([label, *answer["probabilities"]])
        return ["label", *names], rows


def _column(answers, name):
    return [answer[name] for answer in answers]


class ChoiceScorer(Scorer):
    """The share of questions whose most probable choice is the right one, `accuracy`."""

    names = ("accuracy",)

    def has_labels(self, x, y=None):
        return y is not None or all("label" in example for example in self.preprocessor.listed(x))

    def score(self, answers, x, y=None):
        if y is None:
            y = _column(self.preprocessor.listed(x), "label")
        labels = class_numbers(self.preprocessor.targets(y))
        scores = classification_scores(labels, _column(answers, "label"))
        return {"accuracy": scores["accuracy"]}

    def table(self, answers):
        """Returns the label and the probability of each choice."""
        rows = []
        for answer in answers:
            rows.append([int(answer["label"]), *answer["probabilities"]])
        num_choices = max(map(len, rows)) - 1
        header = [f"probability{index}" for index in range(num_choices)]
        return ["label", *header], rows


class TagScorer(Scorer):
    """Precision, recall and F1 of entities, as `conlleval` computes them."""

    names = ("f1", "precision", "recall", "accuracy")
    reads_examples = True

    def check(self, x, y=None):
        super().check(x, y)
        if not isinstance(self.preprocessor.listed(x), Sentences):
            raise ValueError(
                "scores needs words, a list of sentences; texts have no tags. Those with spans "
                "become words and tags by preprocessor.words_and_tags(texts, spans)."
            )

    def score(self, answers, x, y=None):
        true = self._tags(y)
        predicted = _column(answers, "label")
        for sentence, tags in enumerate(true):
            if None in tags:
                pairs = zip(tags, predicted[sentence], strict=True)
                pairs = [(tag, label) for tag, label in pairs if tag is not None]
                true[sentence] = [tag for tag, _ in pairs]
                predicted[sentence] = [label for _, label in pairs]
        return entity_scores(true, predicted)

    def write(self, folder, split, answers, x, y=None):
        """Writes `{split}_predictions.txt` for `conlleval`: word, true tag and predicted tag.

        Answers to raw texts are written as lines of JSON.
        """
        sentences = self.preprocessor.listed(x)
        if not isinstance(sentences, Sentences):
            super().write(folder, split, answers, x, y)
            return
        columns = [sentences.words]
        if y is not None:
            columns.append([[tag or "O" for tag in tags] for tags in self._tags(y)])
        columns.append(_column(answers, "label"))
        write_conll(Path(folder) / f"{split}_predictions.txt", *columns)

    def _tags(self, labels):
        """Returns the tags of each sentence, None for a word without one."""
        names = dict(enumerate(self.preprocessor.label_names))
        sentences = self.preprocessor.targets(labels)
        return [list(map(names.get, sentence)) for sentence in sentences]
