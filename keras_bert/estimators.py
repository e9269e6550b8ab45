"""An estimator of scikit-learn over `BertClassifier`."""

import contextlib
import gc
import random

import keras
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from keras_bert.models.bert_classifier import BertClassifier
from keras_bert.text import numpy_ops
from keras_bert.training.adamw import AdamW
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay

__all__ = ["TextClassifier"]


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier that fine-tunes a BERT on texts, or pairs of texts.

    Use it where scikit-learn asks for an estimator: `cross_val_score`, `GridSearchCV`, `Pipeline`,
    ensembles. Elsewhere, a `BertClassifier` has more. Each `fit` starts from the preset. It can be
    pickled, and holds no optimizer after `fit`. With `n_jobs`, each process has a model of its own.

    Args:
        preset: str or `Path`, an encoder to load, as for `BertClassifier.from_preset`.
        epochs: int, the number of epochs.
        learning_rate: float, the peak, after a warm-up in the first tenth of the steps.
        batch_size: int, texts in a batch.
        sequence_length: int, tokens of a text that are read.
        random_state: int, `RandomState` or None, the seed of the new head, dropout and the order
            of texts. Fits with the same int give the same predictions.

    Call arguments:
        X: texts, in any form that `BertClassifier.fit` takes in memory.
        y: labels `[n]`, of two classes or more.
        sample_weight: of `fit` and `score`; `[n]` floats, or None.

    Attributes:
        classes_: `[C]`, the labels in order. Columns of `predict_proba`, `[n, C]`, have this order.
        model_: the trained `BertClassifier`, with the labels as strings for `label_names`: to
            `calibrate`, `save_to_preset` or `export`.

    Raises:
        ValueError: if there is only one class, labels are numbers of a regression, or their number
            is not that of the texts.

    Example:
    ```python
    search = GridSearchCV(
        TextClassifier("hf://google-bert/bert-base-uncased", random_state=0),
        {"learning_rate": [2e-5, 3e-5, 5e-5], "epochs": [2, 3, 4]},
    )
    search.fit(texts, labels).best_params_
    ```
    """

    def __init__(
        self,
        preset,
        *,
        epochs=3,
        learning_rate=5e-5,
        batch_size=32,
        sequence_length=128,
        random_state=None,
    ):
        self.preset = preset
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.sequence_length = sequence_length
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        check_consistent_length(X, y, sample_weight)
        check_classification_targets(y)
        classes, numbers = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"A classifier needs two classes or more; got 1 class, {classes[0]}.")
        vars(self).pop("model_", None)
        gc.collect()  # models of earlier fits, whose references are cycles
        with _seeded(self.random_state):
            model = BertClassifier.from_preset(
                self.preset,
                label_names=[*map(str, classes)],
                sequence_length=self.sequence_length,
            )
            steps = self.epochs * -(-len(numbers) // self.batch_size)
            rate = WarmupLinearDecay(self.learning_rate, steps // 10, steps, continuous=True)
            model.compile(AdamW(rate))
            model.fit(
                X,
                numbers,
                self.batch_size,
                epochs=self.epochs,
                sample_weight=sample_weight,
                verbose=0,
            )
        model.compile()  # drops the trained optimizer, twice as large as the weights
        model.compiled = False  # as from a preset; a pickle then has no optimizer
        self.classes_, self.model_ = classes, model
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        return numpy_ops.softmax(self.model_.predict(X, self.batch_size, verbose=0))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=-1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


@contextlib.contextmanager
def _seeded(random_state):
    """Seeds one fit, after which Python's and NumPy's global generators continue as before.

    Splitters such as `ShuffleSplit` draw from NumPy's between the fits.
    """
    seed = check_random_state(random_state).randint(2**31 - 1)
    states = random.getstate(), np.random.get_state()
    keras.utils.set_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
