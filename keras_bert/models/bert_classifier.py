"""BERT that classifies sentences, or pairs of them."""

import keras
import numpy as np

from keras_bert.data.columns import check_columns
from keras_bert.data.data_of import data_of
from keras_bert.data.prepared_inputs import with_extra_arrays
from keras_bert.layers.dense_and_norms import FeatureNormalization, dense
from keras_bert.layers.dropout import Dropout
from keras_bert.messages import check_int, check_one_of
from keras_bert.metrics.calibration import (
    best_temperature,
    best_threshold,
    expected_calibration_error,
)
from keras_bert.models.bert_task import BertTask
from keras_bert.models.explaining import explain, log_odds
from keras_bert.models.task_parts import number_of_classes, score_policy
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.labels import ClassLabels, Numbers, class_numbers
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.scoring.label_scorers import ClassScorer
from keras_bert.text.numpy_ops import softmax
from keras_bert.training.adamw import AdamW


@registered
class BertClassifier(BertTask):
    """An encoder with a head that classifies or scores a sentence, or a pair of sentences.

    `fit` and `evaluate` take texts, with labels by name or by number; with `num_features` they take
    `{"text": texts, "features": numbers}`, and the first `fit` on those in memory adapts to them.
    `BertClassifierPreprocessor` handles the names of the classes, several labels for a text, and
    windows of long texts: `validation_data` scores each window, `evaluate` each text.
    Source: Devlin et al. 2019, section 4.1; google-research/bert run_classifier.py.

    Args:
        num_classes: int, C; 1 is regression: one number, trained by its squared error, as are
            several with the preprocessor's `regression`. None means the number of the
            preprocessor's `label_names`.
        dropout: float, for the pooled output.
        num_features: int, K, numbers alongside each text. They are scaled to mean 0 and variance 1
            and concatenated with the pooled output before the logits; see `adapt_features`.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

    Call arguments:
        inputs: a dict of the backbone's inputs and, with `num_features`, `features`, `[B, K]`
            float32.

    Returns:
        Logits `[B, C]`, float32.

    Raises:
        ValueError: if `num_classes` is below 1 or not the number of the preprocessor's
            `label_names`, or `num_features` is below 0.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertClassifier, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=3)
    >>> tuple(model({"token_ids": np.array([[2, 17, 42, 3]])}).shape)
    (1, 3)
    """

    preprocessor_name = "BertClassifierPreprocessor"
    scorer_class = ClassScorer
    published = Published(
        pipeline="text-classification",
        javascript_pipeline="text-classification",
        head="ForSequenceClassification",
        settings_key="keras_bert_classifier",
        settings=("threshold", "window_stride"),
        purpose="classifies texts",
        example='answer("What a book!")',
    )

    def __init__(
        self,
        backbone,
        num_classes=None,
        preprocessor=None,
        dropout=0.1,
        num_features=0,
        dtype=None,
        **kwargs,
    ):
        policy = score_policy(self, backbone, dtype, "pooled_output")
        num_classes = number_of_classes(self, num_classes, preprocessor, at_least=1)
        check_int("num_features", num_features, at_least=0)
        output_dropout = Dropout(dropout, name="output_dropout", dtype=policy)
        head = dense(num_classes, "logits", dtype=policy)
        inputs = dict(backbone.input)
        joined = output_dropout(backbone(inputs)["pooled_output"])  # [B, H]
        if num_features:
            normalization = FeatureNormalization(name="feature_normalization", dtype="float32")
            inputs["features"] = keras.Input((num_features,), dtype="float32", name="features")
            features = keras.ops.cast(normalization(inputs["features"]), joined.dtype)
            joined = keras.ops.concatenate([joined, features], axis=-1)  # [B, H + K]
        logits = keras.ops.cast(head(joined), "float32")  # [B, C]
        super().__init__(inputs, logits, backbone, preprocessor, dtype, **kwargs)
        self.head = head
        if num_features:
            self.feature_normalization = normalization
        self.num_classes = num_classes
        self.dropout = dropout
        self.num_features = num_features

    @property
    def is_multi_label(self):
        """Whether a text may have several labels; see the preprocessor's `multi_label`."""
        return self.preprocessor is not None and self.preprocessor.multi_label

    @property
    def is_regression(self):
        """Whether the outputs are numbers to predict; see the preprocessor's `regression`."""
        reader = self.preprocessor
        return self.num_classes == 1 if reader is None else reader.is_regression

    @property
    def labels(self):
        if self.preprocessor is not None:
            return super().labels
        rules = Numbers if self.num_classes == 1 else ClassLabels
        return rules(list(map(str, range(self.num_classes))))

    def default_compile_args(self):
        """AdamW at 5e-5; cross-entropy and accuracy, or squared error for a regression."""
        if self.is_multi_label:
            logit = self.preprocessor.threshold_logit
            loss = keras.losses.BinaryCrossentropy(from_logits=True)
            metric = keras.metrics.BinaryAccuracy(name="accuracy", threshold=logit)
        elif self.is_regression:
            loss = keras.losses.MeanSquaredError()
            return {"optimizer": AdamW(5e-5), "loss": loss}
        else:
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            metric = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
        return {"optimizer": AdamW(5e-5), "loss": loss, "metrics": [metric]}

    def data_to_fit(self, data, arguments):
        if self.num_features and not self.feature_normalization.is_adapted:
            if data.is_streamed:
                raise ValueError(
                    "The features of datasets and batches can't be looked at before training: call "
                    "model.adapt_features(features) first, with those of the training data."
                )
            self._adapt(data.extra_inputs)
        return super().data_to_fit(data, arguments)

    def adapt_features(self, features):
        """Computes the mean and variance of the features of training data, saved with the weights.

        Args:
            features: `[n, K]` finite numbers.

        Raises:
            ValueError: if they are not finite numbers of that shape.
        """
        self._adapt({"features": features})

    def _adapt(self, inputs):
        inputs = with_extra_arrays(self, inputs)
        self.feature_normalization.adapt(inputs["features"])

    def explain(self, x, target=None, *, steps=50, baseline="pad"):
        """Computes how much each word of a text, or of a pair, adds to the answer.

        The weights are integrated gradients of the sum of token, segment and position embeddings,
        along the path from a row in which all tokens but the special ones are blank. They add up to
        `value - baseline_value`; `error` is the relative difference, which more `steps` reduce.
        Source: Sundararajan et al. 2017.

        Args:
            x: a single example, as `answer` takes it. Of a long text, only the part that
                truncation keeps is explained.
            target: the class to explain, by name or number; by default the most probable one.
            steps: int, points on the path; each takes a forward and a backward pass of the row.
            baseline: `"pad"` or `"mask"`, the token that is blank.

        Returns:
            A dict.
            - `target`: the class; None for a score.
            - `value`: float, the log-odds of the class, or the score.
            - `baseline_value`: float, the value of the blank row.
            - `error`: float.
            - `word_text`, strings, `word_start` and `word_end`, int, `[W]`: the words, and their
              characters in the text.
            - `word_column`, int `[W]`: 0 in the first text, 1 in the second.
            - `word_weight`, float `[W]`: above 0 for a word that speaks for the target.

        Raises:
            ValueError: if `x` isn't a single example, the target is unknown, or the model is
                quantized.

        Example:
        >>> from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor
        >>> from keras_bert import BertTokenizer, sizes
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "bad", "good"]
        >>> tokenizer = BertTokenizer(words)
        >>> preprocessor = BertClassifierPreprocessor(tokenizer, label_names=["no", "yes"])
        >>> model = BertClassifier(BertBackbone(8, **sizes.tiny), preprocessor=preprocessor)
        >>> model.explain("So good", "yes")["word_text"].tolist()
        ['So', 'good']
        """
        reader = preprocessor_of(self)

        def chosen(logits):
            if reader.is_regression and len(reader.label_names) == 1:
                check_one_of("target of a score", target, [None])
                return None, lambda logits: logits[:, 0]
            if target is None:
                number = int(reader.less_threshold(logits[0]).argmax())
            else:
                number = reader.labels.number("target is", target)
            name = reader.label_names[number]
            if reader.multi_label or reader.is_regression:
                return name, lambda logits: logits[:, number]
            return name, lambda logits: log_odds(logits, number)

        return explain(self, x, chosen, steps, baseline)

    def calibrate(self, x, y=None, batch_size=None):
        """Scales the logits so that probabilities match how often answers are right.

        Fits one temperature on labeled examples in memory, on which the model was not trained, and
        divides the head's weights by it. Answers, presets and exported models then have the new
        probabilities; the most probable class stays the same. Train before, and `choose_threshold`
        after. Source: Guo et al. 2017, section 4.2.

        Args:
            x: texts or pairs in memory, as for `fit`, or prepared inputs.
            y: their labels, by name or by number, unless `x` contains them.
            batch_size: int; 32 by default.

        Returns:
            A dict of `temperature`, above 1 if the model was overconfident, and 1, with a warning,
            if all predictions are right or no better than chance; `error_before` and
            `error_after`, the `keras_bert.metrics.expected_calibration_error` of these examples;
            and `num_predictions`, one for each text, or for each label of each text.

        Raises:
            ValueError: if the model is a regression, the head is quantized or has adapters, or all
                labels are one class.
        """
        if self.is_regression:
            raise ValueError("A regression has no probabilities to calibrate.")
        if self.head.quantization_mode or self.head.lora_enabled:
            raise ValueError("The head is quantized or has adapters: calibrate before that.")
        labels, logits = self._decisions(x, y, batch_size)
        temperature = best_temperature(labels, logits)
        for variable in (self.head.kernel, self.head.bias):
            variable.assign(variable / temperature)
        return {
            "temperature": temperature,
            "error_before": expected_calibration_error(labels, softmax(logits)),
            "error_after": expected_calibration_error(labels, softmax(logits / temperature)),
            "num_predictions": len(labels),
        }

    def choose_threshold(self, x, y=None, batch_size=None, per_label=False):
        """Sets the preprocessor's `threshold` to the one with the best F1, and returns it.

        F1 is that of class 1 of two, or pooled over all labels of a `multi_label` model; with
        `per_label` there is one threshold a label, a list. The other arguments are those of
        `calibrate`. Presets and exported models keep the threshold, and
        `scores` takes it into account. The accuracy of `evaluate` doesn't for two classes; for a
        `multi_label` model, compile again.

        Raises:
            ValueError: if the model has neither two classes nor `multi_label`, or all labels are
                one class.
        """
        is_binary = self.num_classes == 2 and not self.is_regression and not per_label
        if not self.is_multi_label and not is_binary:
            needs = "per_label needs" if per_label else "A threshold needs 2 classes or"
            raise ValueError(f"{needs} multi_label; this is {self!r}.")
        preprocessor = preprocessor_of(self)
        labels, logits = self._decisions(x, y, batch_size)
        probabilities = softmax(logits)[:, 1]
        shape = (-1, self.num_classes if per_label else 1)
        columns = labels.reshape(shape).T, probabilities.reshape(shape).T
        threshold = list(map(best_threshold, *columns))
        if not per_label:
            [threshold] = threshold
        self.preprocessor = preprocessor.like(preprocessor, threshold=threshold)
        return threshold

    def _decisions(self, x, y, batch_size):
        """Returns class numbers `[n]` and logits `[n, C]`; each of several labels is 0 or 1."""
        data = data_of(self, x, y).in_memory()
        if data.y is None:
            raise ValueError("Give examples, and their labels y.")
        check_columns(self, data.count, y=data.y)
        labels = self.targets(data.y).astype("int64")
        if not self.is_multi_label:
            labels = class_numbers(labels)
        if len(np.unique(labels)) == 1:
            raise ValueError(
                f"All {data.count} examples have the same label: give examples of every class."
            )
        logits = self.predictor.outputs(data, batch_size, verbose=0)
        if self.is_multi_label:
            logits = np.stack([0 * logits, logits], axis=-1).reshape(-1, 2)
        return labels.reshape(-1), logits
