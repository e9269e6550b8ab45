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


class DivergenceMessage(keras.callbacks.Callback):
    """Logs, at the end of an epoch, at which step its loss became NaN or infinite."""

    async_safe = True  # so Keras reads losses in the background, where the backend allows it

    def on_epoch_begin(self, epoch, logs=None):
        self.lost = []  # of steps, in any order; the mean of an epoch stays NaN

    def on_train_batch_end(self, batch, logs=None):
        loss = _infinite_loss(logs)
        if loss is not None:
            self.lost.append((batch + 1, loss))

    def on_epoch_end(self, epoch, logs=None):
        if self.lost:
            step, loss = min(self.lost)
            became = _became(loss, f"{step:,} of epoch {epoch + 1}", self.model)
            logger.warning("%s Train again with %s", became, _ADVICE)


def check_loss(
    callback: keras.callbacks.Callback, logs: dict[str, Any] | None, checkpoint: Any
) -> None:
    """Raises a `DivergedError`, which names the last checkpoint, if a loss is NaN or infinite."""
    loss = _infinite_loss(logs)
    if loss is not None:
        model = callback.model  # it has the current state on JAX too, which takes time to fetch
        became = _became(loss, f"{optimizer_step(model):,}", model)
        raise DivergedError(f"{became} {_remedy(checkpoint)}")


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


def _infinite_loss(logs):
    """Returns the loss if it is NaN or infinite."""
    loss = (logs or {}).get("loss", 0.0)
    return None if math.isfinite(loss) else loss


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
