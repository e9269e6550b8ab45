"""BERT that sorts sentences, or pairs of them."""

import math

import keras
import numpy as np

from keras_bert.layers.dropout import Dropout
from keras_bert.layers.feature_normalization import FeatureNormalization
from keras_bert.layers.initializer import dense
from keras_bert.models.bert_task import BertTask, holds_text
from keras_bert.models.pooled_windows import PooledWindows, check_windows
from keras_bert.models.text_features import TextFeatures, check_num_features
from keras_bert.preprocessing.class_labels import class_numbers, class_weights, label_matrix
from keras_bert.training.adamw import AdamW


@keras.saving.register_keras_serializable(package="keras_bert")
class BertClassifier(TextFeatures, PooledWindows, BertTask):
    """Classes or a score of a sentence, or of a pair of them.

    `fit` and `evaluate` take labels by number or by name. With `num_features` they and `predict`
    take `{"text": texts, "features": numbers}` in place of texts.

    Source: Devlin et al. 2019, section 4.1; `create_model` of google-research/bert
    run_classifier.py.

    Args:
        backbone: a `BertBackbone`.
        num_classes: int, C; 1 is regression: one number, learnt by its squared error.
        preprocessor: a `BertPreprocessor`, for raw text; or None.
        dropout: float, of the pooled output.
        label_names: C strings, the classes' names; "0", "1", ... by default.
        multi_label: bool, whether a text may have several of the classes, or none: a sigmoid for
            each. Labels are then `[n, C]` of 0 and 1, or a list of names for each text.
        threshold: float, the probability from which on a `multi_label` model says that a text has
            a label.
        num_features: int, K, numbers that stand beside each text. They are brought to mean 0 and
            variance 1, and join the pooled output before the logits; see `adapt_features`.
        window_stride: int: a text that is longer than a sequence is read in windows that begin so
            many tokens behind each other. Each is learnt with the label of its text, and a text's
            logits are those of its windows, pooled. None cuts texts, as `preprocessor.truncation`
            says.
        window_pooling: `"mean"` or `"max"` of the windows' logits.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs, and of `features`, `[B, K]` float32, if there are
            any.

    Returns:
        Logits `[B, C]`, float32.

    Raises:
        ValueError: if `num_classes` is below 1 or is not the number of `label_names`, or another
            argument can't be meant.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertClassifier, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=3)
    >>> tuple(model({"token_ids": np.array([[2, 17, 42, 3]])}).shape)
    (1, 3)
    """

    def __init__(
        self,
        backbone,
        num_classes,
        preprocessor=None,
        dropout=0.1,
        label_names=None,
        multi_label=False,
        threshold=0.5,
        num_features=0,
        window_stride=None,
        window_pooling="mean",
        **kwargs,
    ):
        _check_classes(num_classes, label_names, threshold)
        check_windows(window_stride, window_pooling, preprocessor)
        check_num_features(num_features)
        output_dropout = Dropout(dropout, name="output_dropout")
        head = dense(num_classes, "logits")
        inputs = dict(backbone.input)
        joined = output_dropout(backbone(backbone.input)["pooled_output"])  # [B, H]
        if num_features:
            normalization = FeatureNormalization(name="feature_normalization", dtype="float32")
            inputs["features"] = keras.Input((num_features,), dtype="float32", name="features")
            features = keras.ops.cast(normalization(inputs["features"]), joined.dtype)
            joined = keras.ops.concatenate([joined, features], axis=-1)  # [B, H + K]
        logits = keras.ops.cast(head(joined), "float32")  # [B, C]
        super().__init__(inputs, logits, backbone, preprocessor, **kwargs)
        self.head = head
        if num_features:
            self.feature_normalization = normalization
        self.num_classes = num_classes
        self.dropout = dropout
        self.label_names = list(label_names or map(str, range(num_classes)))
        self.multi_label = multi_label
        self.threshold = threshold
        self.num_features = num_features
        self.window_stride = window_stride
        self.window_pooling = window_pooling

    def default_compile_args(self):
        """AdamW at 2e-5; cross-entropy and accuracy, or the squared error of a regression."""
        if self.multi_label:
            logit = math.log(self.threshold / (1 - self.threshold))
            return {
                "optimizer": AdamW(2e-5),
                "loss": keras.losses.BinaryCrossentropy(from_logits=True),
                "metrics": [keras.metrics.BinaryAccuracy(name="accuracy", threshold=logit)],
            }
        if self.num_classes == 1:
            return {"optimizer": AdamW(2e-5), "loss": "mean_squared_error"}
        return {
            "optimizer": AdamW(2e-5),
            "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "metrics": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        }

    def fit(
        self, x=None, y=None, batch_size=None, *, sample_weight=None, class_weight=None, **kwargs
    ):
        """Trains, as `BertTask.fit` does; takes labels by name too.

        Args:
            x: what `BertTask.fit` takes, or `{"text": texts, "features": [n, K]}`, or a dataset of
                such dicts. The first call on arrays of features calls `adapt_features`.
            y: labels, by number or by name, unless `x` is a dataset.
            batch_size: int; 32 by default.
            sample_weight: `[n]` floats, or None.
            class_weight: a dict of weights by name or number, 1 for classes that it leaves out; or
                `"balanced"`: n / (C x the texts of the class). They multiply `sample_weight`.
            **kwargs: those of `BertTask.fit`. With a `window_stride`, `validation_data` scores
                each window by itself; `evaluate` scores whole texts.

        Returns:
            The `History`, as `keras.Model.fit`.

        Raises:
            ValueError: if a label, a class of `class_weight` or a feature can't be learnt from.
        """
        is_dataset = hasattr(x, "element_spec")
        if class_weight is not None and is_dataset:
            self._check_weighs_classes()
            weights = class_weights(class_weight, self.label_names)
            kwargs["class_weight"] = dict(enumerate(map(float, weights)))
        elif class_weight is not None:
            y = self.numbered_labels(y)
            sample_weight = self.class_sample_weight(y, class_weight, sample_weight)
        self.adapt_to_first(x)
        return super().fit(x, y, batch_size, sample_weight=sample_weight, **kwargs)

    def answers(self, outputs):
        """What is said of each text.

        `probabilities` `[B, C]`, and the best `label`, `[B]`; with `multi_label` `is_label`,
        `[B, C]`, whether a probability reaches the threshold; of a regression `score`, `[B]`.
        """
        if self.multi_label:
            probabilities = keras.ops.sigmoid(outputs)
            return {"probabilities": probabilities, "is_label": probabilities >= self.threshold}
        if self.num_classes == 1:
            return {"score": outputs[:, 0]}
        return {
            "probabilities": keras.ops.softmax(outputs, axis=-1),
            "label": keras.ops.argmax(outputs, axis=-1),
        }

    def numbered_labels(self, labels):
        """Labels as the loss takes them, from names or numbers.

        Args:
            labels: `[n]` names or numbers; with `multi_label` a list of names for each text, or
                `[n, C]` of 0 and 1.

        Returns:
            Class numbers `[n]`; with `multi_label` 0 and 1, `[n, C]` float32.

        Raises:
            ValueError: if a name is unknown, or a label is none of the classes.
        """
        if self.multi_label:
            return label_matrix(labels, self.label_names)
        if self.num_classes > 1:
            labels = class_numbers(labels, self.label_names)
        elif np.asarray(labels).dtype.kind in "US":
            raise ValueError("A regression (num_classes=1) learns numbers; got labels of strings.")
        self.check_labels(labels)
        return labels

    def class_sample_weight(self, labels, class_weight, sample_weight=None):
        """The weight `[n]` of each text, float32, by its class.

        Args:
            labels: `[n]` class numbers or names.
            class_weight: as `fit` takes it.
            sample_weight: `[n]` floats to multiply, or None.

        Raises:
            ValueError: if a class is unknown, or a text has not just one class.
        """
        self._check_weighs_classes()
        labels = np.asarray(self.numbered_labels(labels)).reshape(-1)
        weights = class_weights(class_weight, self.label_names, labels)[labels]
        return weights if sample_weight is None else weights * np.asarray(sample_weight)

    def check_labels(self, labels):
        """Raises a ValueError if `labels`, an array of integers, leaves the classes."""
        labels = np.asarray(labels)
        one_each = labels.ndim == 1 or labels.shape[1:] == (1,)
        if self.multi_label or self.num_classes == 1 or not one_each or not labels.size:
            return
        if labels.min() < 0 or labels.max() >= self.num_classes:
            raise ValueError(
                f"Labels must be in 0 to {self.num_classes - 1} for num_classes="
                f"{self.num_classes}; got values from {labels.min()} to {labels.max()}. Number the "
                "classes from 0, or make the model with as many as there are."
            )

    def checked_dataset(self, dataset):
        """The same, for a `tf.data.Dataset`: an error where a label leaves the classes."""
        if self.num_classes == 1 or self.multi_label:
            return dataset
        from keras_bert.preprocessing.checked_labels import checked_labels

        return checked_labels(dataset, self.num_classes)

    def get_config(self):
        names = ("num_classes", "dropout", "label_names", "multi_label", "threshold")
        names += ("num_features", "window_stride", "window_pooling")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def _prepared(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False, learns=True):
        if y is not None:
            y = self.numbered_labels(y)
        x = x if holds_text(x) else self.with_checked_features(x)
        return super()._prepared(x, y, sample_weight, batch_size, shuffle, learns)

    def _check_weighs_classes(self):
        if self.multi_label or self.num_classes == 1:
            kind = "multi_label" if self.multi_label else "regression"
            raise ValueError(
                f"class_weight weighs a text by its one class, which a {kind} model's texts don't "
                "have. Give sample_weight, [n] floats."
            )


def _check_classes(num_classes, label_names, threshold):
    if num_classes < 1:
        raise ValueError(f"num_classes must be 1 (regression) or more; got {num_classes}.")
    if label_names is not None and len(label_names) != num_classes:
        raise ValueError(
            f"There are {num_classes} classes but {len(label_names)} label_names: "
            f"{list(label_names)}. Give each class one name."
        )
    if not 0 < threshold < 1:
        raise ValueError(f"threshold is a probability between 0 and 1; got {threshold}.")
