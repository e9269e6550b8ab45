"""Metrics of probabilities, computed from logits."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class LogitsMetric(keras.metrics.Metric):
    """A metric of probabilities, for a model whose outputs are logits.

    `BertTask.compile` makes it of metrics such as `AUC`, `F1Score` and `Precision`. Labels may be
    class numbers. With two classes of which one is right, metrics of a binary decision are those of
    class 1.

    Args:
        metric: a `keras.metrics.Metric` that takes probabilities, or `from_logits=True`, and labels
            of 0 and 1.
        activation: `"softmax"` if one class is right, `"sigmoid"` if any may be.

    Example:
    >>> metric = LogitsMetric(keras.metrics.AUC(), "softmax")
    >>> metric.update_state([0, 1, 1], [[2.0, 1.0], [3.0, 4.0], [0.0, 5.0]])
    >>> float(metric.result())
    1.0
    """

    def __init__(self, metric, activation, name=None, dtype=None):
        super().__init__(name=name or metric.name, dtype=dtype)
        self.metric = metric
        self.activation = activation

    def update_state(self, y_true, y_pred, sample_weight=None):
        logits = ops.cast(ops.convert_to_tensor(y_pred), "float32")
        labels, classes = ops.convert_to_tensor(y_true), ops.shape(logits)[-1]
        if len(labels.shape) < len(logits.shape) or labels.shape[-1] == 1:
            labels = ops.one_hot(ops.reshape(labels, [-1]), classes)  # of class numbers
        logits = ops.reshape(logits, [-1, classes])
        labels = ops.cast(ops.reshape(labels, [-1, classes]), "float32")
        if sample_weight is not None:
            sample_weight = ops.reshape(ops.convert_to_tensor(sample_weight), [-1])
        is_one = self.activation == "softmax"
        outputs = ops.softmax(logits) if is_one else ops.sigmoid(logits)
        if is_one and classes == 2 and not isinstance(self.metric, _OF_ALL_CLASSES):
            outputs, labels = outputs[:, 1:], labels[:, 1:]
        if self.metric.get_config().get("from_logits", False):
            outputs = ops.log(outputs) - ops.log1p(-outputs)
        self.metric.update_state(labels, outputs, sample_weight=sample_weight)

    def result(self):
        return self.metric.result()

    def reset_state(self):
        self.metric.reset_state()

    def get_config(self):
        metric = keras.saving.serialize_keras_object(self.metric)
        return {"metric": metric, "activation": self.activation, "name": self.name}

    @classmethod
    def from_config(cls, config):
        metric = keras.saving.deserialize_keras_object(config["metric"])
        return cls(**{**config, "metric": metric})


_OF_ALL_CLASSES = (
    keras.metrics.CategoricalAccuracy,
    keras.metrics.FBetaScore,
    keras.metrics.TopKCategoricalAccuracy,
)
