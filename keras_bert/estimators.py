"""`BertClassifier` as an estimator of scikit-learn."""

import contextlib
import gc
import os
import random
from typing import Self

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_int, from_extra, is_missing
from keras_bert.models.bert_classifier import BertClassifier
from keras_bert.preprocessing.forms import Examples
from keras_bert.text import numpy_ops
from keras_bert.training.adamw import AdamW
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay

with from_extra("recipes"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted

__all__ = ["TextClassifier"]


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of texts, or of pairs of texts, for `GridSearchCV`, `Pipeline` and the like.

    Each `fit` starts from the preset. Pickles hold the trained model without its optimizer.

    Args:
        preset: an encoder, as for `BertClassifier.from_preset`.
        epochs: int.
        learning_rate: float, the peak, after a warm-up in the first tenth of the steps.
        batch_size: int.
        sequence_length: int, the tokens of a text that are read.
        random_state: int, `RandomState` or None, the seed of the head, dropout and the order of
            texts. Fits with the same int give the same predictions.

    Attributes:
        classes_: `[C]`, the sorted labels: the columns of `predict_proba`, `[n, C]` float32.
        model_: the trained `BertClassifier`, to `calibrate`, `export` and so on.

    Raises:
        ValueError: by `fit`, if `y`, `[n]`, has one class or real numbers.

    Example:
    ```python
    estimator = TextClassifier("hf://google-bert/bert-base-uncased", random_state=0)
    search = GridSearchCV(estimator, {"learning_rate": [2e-5, 5e-5], "epochs": [2, 3, 4]})
    search.fit(texts, labels).best_params_
    ```
    """

    def __init__(
        self,
        preset: str | os.PathLike,
        *,
        epochs: int = 3,
        learning_rate: float = 5e-5,
        batch_size: int = 32,
        sequence_length: int = 128,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.preset = preset
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.sequence_length = sequence_length
        self.random_state = random_state

    def fit(
        self, X: Examples, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        for index, label in enumerate(np.ravel(np.asarray(y, object))):
            if is_missing(label):  # NumPy would make a class "nan"
                raise ValueError(f"Label {index} is {label}: leave the example out.")
        check_classification_targets(y)
        classes, numbers = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"A classifier needs two classes or more; got 1 class, {classes[0]}.")
        check_int("epochs", self.epochs)
        check_int("batch_size", self.batch_size)
        vars(self).pop("model_", None)
        gc.collect()  # earlier models, which hold references to themselves
        names = [*map(str, classes)]
        steps = self.epochs * -(-len(numbers) // self.batch_size)
        rate = WarmupLinearDecay(self.learning_rate, steps // 10, steps, continuous=True)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with contextlib.ExitStack() as stack:  # splitters draw between fits
            stack.callback(random.setstate, random.getstate())
            stack.callback(np.random.set_state, np.random.get_state())
            keras.utils.set_random_seed(seed)
            model = BertClassifier.from_preset(
                self.preset,
                label_names=names,
                sequence_length=self.sequence_length,
            )
            model.compile(AdamW(rate))
            options = {"epochs": self.epochs, "sample_weight": sample_weight, "verbose": 0}
            model.fit(X, np.take(names, numbers), self.batch_size, **options)
        model.compile()  # drops the trained optimizer, twice as large as the weights
        model.compiled = False  # and pickles have none
        self.classes_ = classes
        self.model_ = model
        return self

    def predict_proba(self, X: Examples) -> np.ndarray:
        check_is_fitted(self, "model_")
        return numpy_ops.softmax(self.model_.predict(X, self.batch_size, verbose=0))

    def predict(self, X: Examples) -> np.ndarray:
        probabilities = self.predict_proba(X)  # or an error before `fit`
        return self.classes_[probabilities.argmax(axis=-1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
