"""Arguments of `compile` that suit a task, whose outputs are logits."""

import contextlib

import keras

from keras_bert.models.logits_metric import LogitsMetric

_OF_ONE_CLASS = {  # losses over which a softmax is taken
    "sparse_categorical_crossentropy": keras.losses.SparseCategoricalCrossentropy,
    "categorical_crossentropy": keras.losses.CategoricalCrossentropy,
    "categorical_focal_crossentropy": keras.losses.CategoricalFocalCrossentropy,
}
_OF_ANY_CLASSES = {  # losses over which a sigmoid is taken
    "binary_crossentropy": keras.losses.BinaryCrossentropy,
    "binary_focal_crossentropy": keras.losses.BinaryFocalCrossentropy,
}
_LOSSES = {
    name: kind
    for function, kind in (_OF_ONE_CLASS | _OF_ANY_CLASSES).items()
    for name in (function, kind.__name__)
}
_SHORT = ("crossentropy", "ce")
_ACCURACY = ("accuracy", "acc")
_PROBABILITY_METRICS = (
    keras.metrics.AUC,
    keras.metrics.BinaryAccuracy,
    keras.metrics.CategoricalAccuracy,
    keras.metrics.FalseNegatives,
    keras.metrics.FalsePositives,
    keras.metrics.FBetaScore,  # F1Score too
    keras.metrics.Precision,
    keras.metrics.PrecisionAtRecall,
    keras.metrics.Recall,
    keras.metrics.RecallAtPrecision,
    keras.metrics.SensitivityAtSpecificity,
    keras.metrics.SpecificityAtSensitivity,
    keras.metrics.TopKCategoricalAccuracy,
    keras.metrics.TrueNegatives,
    keras.metrics.TruePositives,
)


def arguments(defaults, *, optimizer, loss, loss_weights, metrics, weighted_metrics):
    """Completes the arguments of `BertTask.compile` by the `defaults` of the task.

    Losses and metrics that take probabilities are replaced with those that take logits.
    """
    if optimizer is None:
        optimizer = defaults.get("optimizer", "rmsprop")  # Keras's own default
    own = defaults.get("loss")
    has_metrics = metrics is not None or weighted_metrics is not None
    if loss is None:
        loss = own
        if not has_metrics:
            metrics, weighted_metrics = defaults.get("metrics"), defaults.get("weighted_metrics")
            has_metrics = False
    else:
        loss = logits_losses(loss, own)
    if loss_weights is None and loss == own:
        loss_weights = defaults.get("loss_weights")
    if has_metrics:
        metrics, weighted_metrics = logits_metrics(metrics, weighted_metrics, loss, defaults)
    return {
        "optimizer": optimizer,
        "loss": loss,
        "loss_weights": loss_weights,
        "metrics": metrics,
        "weighted_metrics": weighted_metrics,
    }


def defaults(task, is_needed):
    """The task's `default_compile_args`; none if it has no loss of its own, unless it is needed."""
    try:
        return task.default_compile_args()
    except ValueError:
        if is_needed:
            raise
        return {}


def logits_losses(loss, own):
    """Replaces the losses of `compile` with those that take logits, where `own` losses do.

    Raises:
        ValueError: if a loss object takes probabilities.
    """
    if isinstance(loss, dict):
        owns = own if isinstance(own, dict) else {}
        return {name: _logits_loss(each, owns.get(name)) for name, each in loss.items()}
    if isinstance(own, dict) and not isinstance(loss, (list, tuple)):
        return {name: _logits_loss(loss, each) for name, each in own.items()}  # one for all
    return _logits_loss(loss, own)


def logits_metrics(metrics, weighted_metrics, loss, defaults):
    """Replaces the metrics of `compile` with those that take logits, where the task's loss does.

    Returns:
        `(metrics, weighted_metrics)`. The metrics of a task whose own are weighted, since not all
        of its tokens count, are weighted.

    Raises:
        ValueError: if a metric takes probabilities and can't be replaced.
    """
    own = defaults.get("loss")
    owns = defaults.get("weighted_metrics") or defaults.get("metrics")
    if weighted_metrics is None and "weighted_metrics" in defaults:
        metrics, weighted_metrics = None, metrics

    def replaced(given):
        if given is None:
            return None
        if isinstance(own, dict) and isinstance(loss, dict):
            by_name = given if isinstance(given, dict) else dict.fromkeys(own, given)
            return {
                name: _replaced_metrics(
                    each, loss.get(name), own.get(name), (owns or {}).get(name), name
                )
                for name, each in by_name.items()
            }
        return _replaced_metrics(given, loss, own, owns)

    return replaced(metrics), replaced(weighted_metrics)


def _replaced_metrics(given, loss, own_loss, owns, output=None):
    """The metrics of one output."""
    if not _takes_logits(own_loss):
        return given
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    found = []
    for metric in listed:
        is_accuracy = isinstance(metric, str) and metric in _ACCURACY
        if is_accuracy and type(loss) is type(own_loss) and owns:
            found.extend(type(own).from_config(own.get_config()) for own in owns)  # for one use
        else:
            found.append(_logits_metric(metric, loss))
    return found


def _logits_metric(metric, loss):
    takes_any = isinstance(loss, tuple(_OF_ANY_CLASSES.values()))
    if isinstance(metric, str) and metric in _ACCURACY:
        return keras.metrics.BinaryAccuracy(metric, threshold=0.0) if takes_any else metric
    known = keras.metrics.get(metric) if isinstance(metric, str) else metric
    if not isinstance(known, keras.metrics.Metric):
        return metric  # a function
    if isinstance(known, keras.metrics.BinaryAccuracy) and known.threshold != 0.5 and takes_any:
        return known  # a threshold of logits, as that of the task's own metric
    if isinstance(known, _PROBABILITY_METRICS):
        name = metric if isinstance(metric, str) else known.name
        return LogitsMetric(known, "sigmoid" if takes_any else "softmax", name)
    if getattr(known, "from_logits", None) is False:
        raise ValueError(_message("metric", type(known).__name__))
    return metric


def _logits_loss(loss, own):
    if not _takes_logits(own):
        return loss
    if isinstance(loss, str) and loss in _SHORT:
        return own
    name = loss if isinstance(loss, str) else getattr(loss, "__name__", None)
    if name in _LOSSES and (loss is name or loss is getattr(keras.losses, name, None)):
        kind = _LOSSES[name]
        return own if type(own) is kind else kind(from_logits=True)
    if getattr(loss, "from_logits", None) is False:
        raise ValueError(_message("loss", type(loss).__name__))
    return loss


def _takes_logits(loss):
    return getattr(loss, "from_logits", False)


def _message(what, name):
    return (
        f"The {what} {name} takes probabilities, and the model's outputs are logits. Pass "
        f"{name}(from_logits=True), or leave the {what} out for the task's own."
    )


def scope(model):
    """The scope in which a model's optimizer must be made."""
    strategy = getattr(model, "distribute_strategy", None)  # of TensorFlow's trainer alone
    return strategy.scope() if strategy is not None else contextlib.nullcontext()
