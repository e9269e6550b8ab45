"""Training for a time instead of a number of steps."""

import math
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_bert import TrainingCheckpoint, WarmupLinearDecay
from keras_bert.training.divergence import optimizer_step
from keras_bert.training.processes import numbers_of_all


class TimeBudget(keras.callbacks.Callback):
    """Trains for a time: the learning rate follows a clock, and the last step has the last rate.

    Each execution, one or `steps_per_execution` steps, uses the rate of `schedule` at the time
    trained so far; the rate is updated at most 10,000 times in a run. The time includes validation
    and checkpoints. It is part of the optimizer's state: a run that resumes from a
    `TrainingCheckpoint` has the rest of its budget, whatever the pause.

    The last execution is the one that leaves too little time for another and for the longest end of
    an epoch so far; `measure` times the first. Put this callback last in the list. If several
    processes train together, they read the clock of the first.

    Args:
        optimizer: the model's optimizer, with a number as its learning rate. Create the callback in
            the scope of the strategy, and before `TrainingCheckpoint.restore`.
        schedule: a `WarmupLinearDecay` in seconds: `total_steps` is the budget.
        clock: function that returns seconds.

    Raises:
        ValueError: in `fit`, if the model was trained for longer than the budget, or a new run has
            no time for two executions and a checkpoint.

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
        self._optimizer = optimizer
        self._schedule = schedule
        self._clock = clock
        self._total = float(np.float32(schedule.total_steps))
        optimizer.seconds_trained = keras.Variable(  # in its state, and so in checkpoints
            0.0, trainable=False, dtype="float32", aggregation="only_first_replica"
        )
        self._strategy = None
        self._steps = 1  # of an execution
        self._start = 0.0  # when a run without pauses would have started, by the clock
        self._began = 0.0  # seconds trained before this execution
        self._ended = 0.0  # seconds trained after the last one
        self._execution = 0.0  # seconds that the last execution took
        self._epoch_end = 0.0  # seconds that the longest end of an epoch took
        self._rate_set = 0.0  # seconds trained when the rate was set
        self._sets_rate = False
        self._is_last = False

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
                f"budget of {self._total:,.0f}. Increase the budget, or start a new run in "
                "another folder."
            )
        self._start = self._clock() - self.seconds
        self._rate_set = -math.inf
        self._strategy = getattr(self.model, "distribute_strategy", None)
        self._steps = self.model.steps_per_execution

    def on_train_batch_begin(self, batch, logs=None):
        self._began = self._now()
        self._is_last = not self._fits_another(batch + self._steps)
        if self._is_last and optimizer_step(self.model) <= self._steps:
            raise ValueError(
                f"A budget of {self._total:,.0f} seconds is too short: {self._began:,.1f} are over "
                f"after {optimizer_step(self.model)} steps, and the end of an epoch, with its "
                f"checkpoint, takes {self._epoch_end:,.1f}. Give it several times as much."
            )
        since_rate = self._began - self._rate_set
        self._sets_rate = self._is_last or since_rate >= self._total / 10_000
        if self._sets_rate:
            self._rate_set = self._began
            rate = self._schedule(self._total if self._is_last else self._began)
            self._assign(self._optimizer.learning_rate, rate)

    def _fits_another(self, next_batch):
        """Whether this execution, another one and the ends of their epochs fit in the budget."""
        num_batches = self.params.get("steps") or math.inf
        epoch_ends = 2 if next_batch >= num_batches else 1
        needed = 2 * self._execution + epoch_ends * self._epoch_end
        return self._began + needed <= self._total

    def on_train_batch_end(self, batch, logs=None):
        self._ended = self._now()
        self._execution = self._ended - self._began
        if self._sets_rate or batch + 1 == self.params.get("steps"):
            self._record(self._ended)
        if self._is_last:
            self.model.stop_training = True

    def on_test_end(self, logs=None):
        self._record(self._now())  # for the checkpoint of the epoch

    def on_train_end(self, logs=None):
        self.on_epoch_end(None)

    def on_epoch_end(self, epoch, logs=None):
        now = self._now()
        self._epoch_end = max(self._epoch_end, now - self._ended)
        self._record(now)

    def _now(self):
        hundredths = round(100 * (self._clock() - self._start))
        return numbers_of_all(hundredths, self._strategy)[0] / 100  # of the first process

    def _record(self, seconds):
        just_below = np.nextafter(np.float32(self._total), 0)
        seconds = self._total if self._is_last else min(seconds, just_below)
        self._assign(self._optimizer.seconds_trained, seconds)

    def _assign(self, variable, value):
        _ = self.model  # on JAX, Keras's property moves the optimizer's state into its variables
        variable.assign(value)
