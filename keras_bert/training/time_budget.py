"""Training for a time instead of a number of steps."""

import math
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.divergence import optimizer_step
from keras_bert.training.processes import numbers_of_all
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay


class TimeBudget(keras.callbacks.Callback):
    """Trains for a time: the learning rate follows a clock, and the last step has the last rate.

    Each execution, one or `steps_per_execution` steps, has the rate of `schedule` at the seconds
    trained before it, up to a ten-thousandth of the budget ago. These include validation and
    checkpoints, and are part of the optimizer's state: a run that resumes from a
    `TrainingCheckpoint` has the rest of its budget, whatever the pause.

    The last execution is the one after which there is no time for another and for the end of an
    epoch, the longest so far; `measure` times the first. Put this callback last in the list. If
    several processes train together, they read the clock of the first.

    Args:
        optimizer: the model's optimizer, with a number as its learning rate. Create the callback in
            the scope of the strategy, and before `TrainingCheckpoint.restore`.
        schedule: a `WarmupLinearDecay` in seconds: `total_steps` is the budget.
        clock: function that returns seconds.

    Raises:
        ValueError: if the optimizer has a schedule; in `fit`, if the model was trained for longer
            than the budget, or a new run has no time for two executions and a checkpoint.

    Example:
    >>> optimizer = keras.optimizers.Adam(1e-3)
    >>> TimeBudget(optimizer, WarmupLinearDecay(1e-3, warmup_steps=360, total_steps=3600))
    TimeBudget(0 of 3,600 seconds)
    """

    def __init__(
        self,
        optimizer: keras.optimizers.Optimizer,
        schedule: WarmupLinearDecay,
        clock: Callable[[], float] = time.monotonic,
    ):
        super().__init__()
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
        if isinstance(optimizer.get_config()["learning_rate"], dict):
            raise ValueError(
                "A TimeBudget sets the learning rate by its own schedule: create the optimizer "
                f"with a number, such as {type(optimizer).__name__}(1e-4)."
            )
        self._optimizer = optimizer
        self._schedule = schedule
        self._clock = clock
        self._total = float(np.float32(schedule.total_steps))
        optimizer.seconds_trained = keras.Variable(  # in its state, and so in checkpoints
            0.0, trainable=False, dtype="float32", aggregation="only_first_replica"
        )
        self._execution = self._epoch_end = 0.0  # seconds that the last, and the longest, took
        self._is_last = self._is_due = False

    def __repr__(self):
        return f"TimeBudget({self.seconds:,.0f} of {self._total:,.0f} seconds)"

    @property
    def seconds(self) -> float:
        """The seconds trained so far, without pauses."""
        return float(keras.ops.convert_to_numpy(self._optimizer.seconds_trained))

    @property
    def is_over(self) -> bool:
        """Whether the last step, with the last rate, was taken."""
        return self.seconds >= self._total

    def measure(
        self, model: keras.Model, checkpoint: TrainingCheckpoint, heldout: Any = None
    ) -> None:
        """Evaluates and saves a model before training, to time the end of an epoch.

        The time isn't counted as trained. Does nothing if the budget is over.

        Args:
            model: the compiled model, after `checkpoint.restore`.
            checkpoint: the `TrainingCheckpoint` of the run, which saves the model.
            heldout: the dataset that `fit` evaluates on, or None.
        """
        self.set_model(model)
        self.on_train_begin()
        if self.is_over:
            return
        if heldout is not None:
            model.evaluate(heldout, verbose=0)
        checkpoint.save(model)
        checkpoint.wait()
        self._epoch_end = self._now() - self.seconds

    def on_train_begin(self, logs=None):
        if self.seconds > self._total:
            raise ValueError(
                f"The model was trained for {self.seconds:,.0f} seconds before, longer than the "
                f"budget of {self._total:,.0f}. Give it a larger budget, or start a new run in "
                "another folder."
            )
        self._start = self._clock() - self.seconds
        self._set_at = -self._total
        self._strategy = getattr(self.model, "distribute_strategy", None)

    def on_train_batch_begin(self, batch, logs=None):
        self._began = self._now()
        last_batch = self.params.get("steps") or math.inf
        ends_epoch = batch + self.model.steps_per_execution >= last_batch
        after_another = self._began + 2 * self._execution + (1 + ends_epoch) * self._epoch_end
        self._is_last = after_another > self._total
        if self._is_last and optimizer_step(self.model) <= self.model.steps_per_execution:
            raise ValueError(
                f"A budget of {self._total:,.0f} seconds is too short: {self._began:,.1f} are over "
                f"after {optimizer_step(self.model)} steps, and the end of an epoch, with its "
                f"checkpoint, takes {self._epoch_end:,.1f}. Give it several times as much."
            )
        self._is_due = self._is_last or self._began - self._set_at >= self._total / 10_000
        if self._is_due:
            self._set_at = self._began
            rate = self._schedule(self._total if self._is_last else self._began)
            self._assign(self._optimizer.learning_rate, rate)

    def on_train_batch_end(self, batch, logs=None):
        self._ended = self._now()
        self._execution = self._ended - self._began
        if self._is_due or batch + 1 == self.params.get("steps"):
            self._keep(self._ended)
        if self._is_last:
            self.model.stop_training = True

    def on_test_end(self, logs=None):
        self._keep(self._now())  # for the checkpoint of the epoch

    def on_epoch_end(self, epoch, logs=None):
        self.on_train_end()

    def on_train_end(self, logs=None):
        now = self._now()
        self._epoch_end = max(self._epoch_end, now - self._ended)
        self._keep(now)

    def _now(self):
        hundredths = round(100 * (self._clock() - self._start))
        return numbers_of_all(hundredths, self._strategy)[0] / 100  # of the first process

    def _keep(self, seconds):
        most = np.nextafter(np.float32(self._total), 0)
        seconds = self._total if self._is_last else min(seconds, most)
        self._assign(self._optimizer.seconds_trained, seconds)

    def _assign(self, variable, value):
        if self.model is not None:  # on JAX, this fetches the state of the optimizer: about 20 ms
            variable.assign(value)
