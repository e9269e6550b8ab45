"""The end of a run whose numbers are no longer finite."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

if TYPE_CHECKING:
    from keras_bert.training.checkpointing import TrainingCheckpoint

_ADVICE = (
    "a lower learning rate, a longer warm-up, global_clipnorm=1.0 in the optimizer, or float32 or "
    "mixed_bfloat16 instead of mixed_float16. If it happens at the same step again, look for NaN "
    "or infinite values in the labels, the features and the sample weights."
)


class DivergedError(ValueError):
    """The error of a run whose loss or weights are NaN or infinite."""


class StopAtDivergence(keras.callbacks.Callback):
    """Ends `fit` with a `DivergedError` at the first loss that is NaN or infinite.

    Args:
        checkpoint: the `TrainingCheckpoint` to resume from.
    """

    def __init__(self, checkpoint: "TrainingCheckpoint"):
        super().__init__()
        self.checkpoint = checkpoint

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        check_loss(self, logs, self.checkpoint)


def check_loss(
    callback: keras.callbacks.Callback,
    logs: dict[str, Any] | None,
    checkpoint: "TrainingCheckpoint",
) -> None:
    """Raises a `DivergedError` if the loss of a batch is NaN or infinite.

    Args:
        callback: a callback of the model in training.
        logs: the logs of the batch.
        checkpoint: the `TrainingCheckpoint` to resume from.
    """
    loss = (logs or {}).get("loss")
    if loss is None or math.isfinite(loss):
        return
    model = callback.model  # it has the current state on JAX too
    steps = getattr(model, "steps_per_execution", 1)
    within = f" or in the {steps - 1} steps before it" if steps > 1 else ""
    raise DivergedError(
        f"The loss became {loss} at step {_step(model):,}{within}. {_remedy(checkpoint)}"
    )


def check_weights(model: keras.Model, checkpoint: "TrainingCheckpoint") -> None:
    """Raises a `DivergedError` if a trainable weight of a model is NaN or infinite."""
    variables = model.trainable_variables
    check_arrays(model, variables, map(keras.ops.convert_to_numpy, variables), checkpoint)


def check_arrays(
    model: keras.Model,
    variables: Iterable[keras.Variable],
    arrays: Iterable[np.ndarray],
    checkpoint: "TrainingCheckpoint",
) -> None:
    """Raises a `DivergedError` if the values of a variable are NaN or infinite.

    Args:
        model: the compiled model.
        variables: its variables, or some of them, and its optimizer's.
        arrays: their values as NumPy arrays, in the same order.
        checkpoint: the `TrainingCheckpoint` to resume from.
    """
    for variable, array in zip(variables, arrays, strict=True):
        if not np.isfinite(array).all():
            raise DivergedError(
                f"{variable.path} has values that are NaN or infinite after step "
                f"{_step(model):,}, so the model is not saved. {_remedy(checkpoint)}"
            )


def _remedy(checkpoint):
    step = checkpoint.latest_step()
    if step is None:
        return f"There is no checkpoint yet. Start again with {_ADVICE}"
    return (
        f"The last checkpoint is good: {checkpoint.path(step)}, of step {step:,}. Resume from it "
        f"with {_ADVICE}"
    )


def _step(model):
    return int(keras.ops.convert_to_numpy(model.optimizer.iterations))
