"""The learning rate of a `fit` whose optimizer is the task's own."""

import keras
import numpy as np

from keras_bert.data.translators import size_of
from keras_bert.messages import logger
from keras_bert.preprocessing.forms import is_dataset
from keras_bert.training.adamw import AdamW
from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.keras_internals import learning_rate_at, settings_of, updated_variables
from keras_bert.training.strategy import scope_of
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay

_OWN_RATES = (keras.callbacks.LearningRateScheduler, keras.callbacks.ReduceLROnPlateau)
_ADAMS = (AdamW, keras.optimizers.Adam, keras.optimizers.Nadam, keras.optimizers.RMSprop)
_HIGHEST = 5.01e-4  # above 10 times the rate of Devlin et al. 2019, appendix A.3, in float32
_OWN = "compile(AdamW(WarmupLinearDecay(%g, warmup_steps, total_steps)))"
_WARMUP = 0.1  # of all steps; Devlin et al. 2019, appendix A.3, with the decay of section A.2


def start_schedule(task, x, arguments):
    """Gives a task the optimizer of its next `fit` on `x` with these keyword arguments."""
    if _has_callback(arguments, TrainingCheckpoint):
        raise ValueError(
            f"fit has no optimizer to resume with from a TrainingCheckpoint: {_OWN % 5e-5}, or use "
            "finetune."
        )
    if arguments.get("initial_epoch"):
        logger.warning(
            "fit(initial_epoch=...) starts a new optimizer and a new warm-up. To resume, %s, which "
            "load_model and TrainingCheckpoint restore, or use finetune.",
            _OWN % 5e-5,
        )
    with scope_of(task):
        optimizer = scheduled_optimizer(task, x, arguments)
        if not restart(task, optimizer):
            task._compile_with(optimizer)


def scheduled_optimizer(task, x, arguments):
    """Makes the task's default optimizer, with a learning rate for the steps of one `fit`."""
    optimizer = keras.optimizers.get(task.default_compile_args()["optimizer"])
    rate = optimizer.get_config()["learning_rate"]  # of all replicas, as a float
    if not isinstance(rate, float):
        return optimizer  # it has a schedule
    if _has_callback(arguments, _OWN_RATES):
        return optimizer  # which takes no schedule
    steps = fit_steps(x, **arguments)
    if steps is None:
        logger.warning(
            "The learning rate stays at %g, as the number of training steps is unknown. For the "
            "usual warm-up and decay, pass steps_per_epoch to fit, or %s.",
            rate,
            _OWN % rate,
        )
    elif steps:
        warmup = int(_WARMUP * steps)
        optimizer.learning_rate = WarmupLinearDecay(rate, warmup, steps, continuous=True)
    return optimizer


def warn_of_high_rate(task, arguments):
    """Logs a warning if a new optimizer has a rate that ruins a trained encoder in a few steps."""
    optimizer = getattr(task.optimizer, "inner_optimizer", task.optimizer)
    is_scheduled = _has_callback(arguments, keras.callbacks.LearningRateScheduler)
    is_adam = isinstance(optimizer, _ADAMS)
    if is_scheduled or not is_adam or keras.ops.convert_to_numpy(optimizer.iterations) > 0:
        return
    rate = max(learning_rate_at(optimizer, 2**power) for power in range(20))
    biases = [layer.bias for layer in reversed(task.backbone.lora_layers())]
    biases = [bias for bias in biases if bias is not None and bias.trainable]  # 0 until trained
    if rate > _HIGHEST and any(np.any(keras.ops.convert_to_numpy(bias)) for bias in biases):
        logger.warning(
            "A learning rate of %.2g usually ruins a pre-trained encoder: every text then gets the "
            "same output. Write compile(AdamW(5e-5)), leave the optimizer out, or call "
            "model.backbone.freeze().",
            rate,
        )


def _has_callback(arguments, kinds):
    callbacks = keras.tree.flatten(arguments.get("callbacks") or [])
    return any(isinstance(callback, kinds) for callback in callbacks)


def restart(task, optimizer):
    """Restarts the task's optimizer if it is the same as a new one; returns whether it is.

    The compiled train step then serves the next `fit`, too. Tracing another takes seconds.
    """
    last = task.optimizer
    is_same = (
        isinstance(last, AdamW)
        and last.built
        and settings_of(last) == settings_of(optimizer)
        and isinstance(settings_of(last)["learning_rate"], tuple)  # its schedule; no variable
        and list(map(id, updated_variables(last))) == list(map(id, task.trainable_variables))
    )
    if is_same:
        for variable in last.variables:
            variable.assign(keras.ops.zeros(variable.shape, variable.dtype))  # AdamW's first state
    return is_same


def fit_steps(x, epochs=1, initial_epoch=0, steps_per_epoch=None, **arguments):
    """Computes the optimizer steps that a `fit` takes, or None if they are unknown."""
    if steps_per_epoch is None:
        steps_per_epoch = _batches(x, **arguments)
    if steps_per_epoch is None:
        return None
    return steps_per_epoch * max(epochs - initial_epoch, 0)


def _batches(x, batch_size=None, **others):
    if is_dataset(x):
        batches = int(x.cardinality())
        return batches if batches >= 0 else None  # negative if infinite or unknown
    if hasattr(x, "num_batches"):  # a PyDataset
        return x.num_batches
    arrays = keras.tree.flatten(x)
    if arrays and hasattr(arrays[0], "shape"):
        return -(-arrays[0].shape[0] // (batch_size or 32))
    return size_of(x)
