"""Arguments of `compile` that suit a task, and compiled functions that follow a model."""

import inspect
import weakref

import keras

from keras_bert.losses import BINARY, Distillation
from keras_bert.preprocessing.labels import takes_one_hot
from keras_bert.training.keras_internals import layer_variables, updated_variables


def arguments(defaults, optimizer, loss, loss_weights, metrics, weighted_metrics):
    """Completes the arguments of `BertTask.compile` by the `defaults` of the task."""
    if optimizer is None:
        optimizer = defaults.get("optimizer", "rmsprop")  # Keras's own default
    own = defaults.get("loss")
    has_metrics = metrics is not None or weighted_metrics is not None
    check_takes_logits("loss", loss, own, own)
    for given in (metrics, weighted_metrics):
        check_takes_logits("metric", given, own, own if loss is None else loss)
    if loss is None and not has_metrics:
        metrics = defaults.get("metrics")
        weighted_metrics = defaults.get("weighted_metrics")
    if loss is None:
        loss = own
    if loss_weights is None and loss == own:
        loss_weights = defaults.get("loss_weights")
    return {
        "optimizer": optimizer,
        "loss": loss,
        "loss_weights": loss_weights,
        "metrics": metrics,
        "weighted_metrics": weighted_metrics,
    }


def check_no_rate(arguments):
    """Raises a TypeError if `compile` or `fit` is given a `learning_rate`."""
    if "learning_rate" in arguments:
        raise TypeError("The rate belongs to the optimizer: compile(AdamW(learning_rate)).")


def _of_output(parts, name):
    """Returns the part of an output; anything but a dict applies to all outputs."""
    return parts.get(name) if isinstance(parts, dict) else parts


def check_takes_logits(kind, given, own, loss):
    """Raises a ValueError if a loss or metric takes probabilities, and the task's own logits.

    `given` is what `compile` takes, `own` the task's loss or a dict of those of its outputs, and
    `loss` that to train with, by which Keras chooses the metric called "accuracy".
    """
    if isinstance(given, dict):
        for name, part in given.items():
            check_takes_logits(kind, part, _of_output(own, name), _of_output(loss, name))
        return
    if not all(map(_from_logits, keras.tree.flatten(own))):
        return
    for each in keras.tree.flatten(given):
        each = each.loss if isinstance(each, Distillation) else each
        line = _line_to_write(kind, each, loss)
        if line is not None:
            if isinstance(own, keras.losses.SparseCategoricalCrossentropy) and takes_one_hot(each):
                line += " It takes one-hot labels; with class names or numbers, leave it out."
            name = each
            if not isinstance(each, str):
                name = getattr(each, "__name__", type(each).__name__)
            raise ValueError(
                f"The {kind} {name!r} takes probabilities, and the outputs are logits. {line}"
            )


def _line_to_write(kind, given, loss):
    """Returns what to write in place of a loss or metric of probabilities; None for others."""
    given = _resolved(kind, given, loss)
    name = type(given).__name__
    if inspect.isfunction(given):
        name = "".join(part.capitalize() for part in given.__name__.split("_"))
    from_logits = _from_logits(given)
    if from_logits is False:
        return f"Write keras.{kind}{'es' if kind == 'loss' else 's'}.{name}(from_logits=True)."
    threshold = getattr(given, "threshold", None)
    is_f_score = isinstance(given, keras.metrics.FBetaScore)  # which takes no threshold of 0
    if threshold == 0.5 and not is_f_score:
        return f"Write keras.metrics.{name}(threshold=0.0)."
    has_thresholds = hasattr(given, "thresholds") or (is_f_score and threshold is not None)
    if from_logits is None and has_thresholds:
        return "Leave it out, and call scores(x, y) after training."
    return None


def _resolved(kind, given, loss):
    """Returns the loss or metric that Keras makes of a name; anything else unchanged."""
    if not isinstance(given, str):
        return given
    if given in ("accuracy", "acc"):
        return keras.metrics.BinaryAccuracy() if isinstance(loss, BINARY) else None
    namespace = keras.losses if kind == "loss" else keras.metrics
    if given in ("crossentropy", "ce"):  # by the shape of the labels
        return namespace.SparseCategoricalCrossentropy()
    return namespace.get(given)


def _from_logits(given):
    """Returns whether a loss or metric takes logits; None if it doesn't say."""
    if inspect.isfunction(given):
        has_logits = "from_logits" in inspect.signature(given).parameters
        return False if has_logits and given.__module__.startswith("keras.") else None
    if type(given) is keras.metrics.MeanMetricWrapper:
        return None  # its config would serialize the user's function
    if type(given).__module__.startswith("keras."):
        return given.get_config().get("from_logits")  # Keras 3.16 has no attribute
    return getattr(given, "from_logits", None)


class Retracing:
    """Mixin that makes `fit`, `evaluate` and `predict` compile again after a change of a model.

    Keras keeps the function that the first call compiled. LoRA, `quantize`, `trainable` and `remat`
    change what a model computes or trains, and they may do so through any of its layers, or through
    another model that shares them. A function is therefore used only while the model has the
    variables with which it was compiled.
    """

    def make_train_function(self, force=False):
        check_trainable(self)
        _check_optimizer(self)
        self._make("train_function", super().make_train_function, force)

    def make_test_function(self, force=False):
        self._make("test_function", super().make_test_function, force)

    def make_predict_function(self, force=False):
        self._make("predict_function", super().make_predict_function, force)

    def _make(self, name, make, force):
        variables = layer_variables(self)
        remat = self.backbone.remat
        settings = [self.trainable, remat, *(variable.trainable for variable in variables)]
        last, last_settings = getattr(getattr(self, name), "compiled_with", ([], None))
        is_same = settings == last_settings and all(
            reference() is variable for reference, variable in zip(last, variables, strict=True)
        )
        make(force or not is_same)
        getattr(self, name).compiled_with = [*map(weakref.ref, variables)], settings


def check_trainable(model):
    """Raises a ValueError if a model has no trainable weights."""
    if not model.trainable_variables:
        raise ValueError(
            f"This {type(model).__name__} has nothing to train: set trainable = True, or call "
            "backbone.unfreeze() or enable_lora(rank)."
        )


def _check_optimizer(model):
    if model.optimizer is None or not model.optimizer.built:
        return
    known = {id(variable) for variable in updated_variables(model.optimizer)}
    new = [variable.path for variable in model.trainable_variables if id(variable) not in known]
    if new:
        raise ValueError(
            f"The optimizer doesn't know {len(new)} of the trainable weights, such as {new[0]}: "
            "they were frozen, or weren't there, when it was built. Compile again, with a new "
            "optimizer."
        )
