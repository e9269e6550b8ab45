"""Runs whose numbers are no longer finite: a message in `fit`, an error with a checkpoint."""

import math
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from keras_bert.messages import logger

_ADVICE = (
    "a lower learning rate, a longer warm-up, global_clipnorm=1.0 in the optimizer, or float32 or "
    "mixed_bfloat16 instead of mixed_float16. If it happens at the same step again, look for NaN "
    "or infinite values in the labels, the features and the sample weights."
)


class DivergedError(ValueError):
    """The error of a run whose loss or weights are NaN or infinite."""


class _InfiniteLosses(keras.callbacks.Callback):
    """Notes the steps of an epoch whose loss is NaN or infinite."""

    async_safe = True  # so Keras reads losses in the background, where the backend allows it

    def on_epoch_begin(self, epoch, logs=None):
        self.lost = []  # of steps, in any order; the mean of an epoch stays NaN

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss", 0.0)
        if not math.isfinite(loss):
            self.lost.append((batch + 1, loss))


class DivergenceMessage(_InfiniteLosses):
    """Logs, at the end of an epoch, at which step its loss became NaN or infinite."""

    def on_epoch_end(self, epoch, logs=None):
        if self.lost:
            step, loss = min(self.lost)
            became = _became(loss, f"{step:,} of epoch {epoch + 1}", self.model)
            logger.warning("%s Train again with %s", became, _ADVICE)


class DivergenceStop(_InfiniteLosses):
    """Raises a `DivergedError`, which names the last checkpoint, if a loss is NaN or infinite.

    It raises before the next step that begins once the loss is known, or at the end of the epoch.
    """

    def __init__(self, checkpoint: Any):
        super().__init__()
        self._checkpoint = checkpoint

    def on_epoch_begin(self, epoch, logs=None):
        super().on_epoch_begin(epoch)
        self._before = optimizer_step(self.model)

    def on_train_batch_begin(self, batch, logs=None):
        if self.lost:  # on JAX, `self.model` takes time to fetch
            step, loss = min(self.lost)
            step = min(self._before + step, optimizer_step(self.model))
            raise DivergedError(
                f"{_became(loss, f'{step:,}', self.model)} {_remedy(self._checkpoint)}"
            )

    def on_epoch_end(self, epoch, logs=None):
        self.on_train_batch_begin(None)


def check_weights(
    model: keras.Model, checkpoint: Any, values: Iterable[tuple[keras.Variable, Any]] | None = None
) -> None:
    """Raises a `DivergedError` if a value, by default a trainable weight, is NaN or infinite."""
    if values is None:
        values = ((v, keras.ops.convert_to_numpy(v)) for v in model.trainable_variables)
    for variable, array in values:
        if not np.isfinite(array).all():
            raise DivergedError(
                f"{variable.path} has values that are NaN or infinite after step "
                f"{optimizer_step(model):,}, so the model is not saved. {_remedy(checkpoint)}"
            )


def _became(loss, step, model):
    steps = model.steps_per_execution
    within = f" or in the {steps - 1} steps before it" if steps > 1 else ""
    return f"The loss became {loss} at step {step}{within}."


def _remedy(checkpoint):
    step = checkpoint.latest_step()
    if step is None:
        return f"There is no checkpoint yet. Start again with {_ADVICE}"
    return (
        f"The last checkpoint is good: {checkpoint.path(step)}, of step {step:,}. Resume from it "
        f"with {_ADVICE}"
    )


def optimizer_step(model: keras.Model) -> int:
    """Returns the number of steps that a model's optimizer has taken."""
    return int(keras.ops.convert_to_numpy(model.optimizer.iterations))
