"""Training speed."""

import time
from typing import Any

import keras


class Throughput(keras.callbacks.Callback):
    """Adds `tokens_per_second` to the logs of each epoch; padding counts as tokens.

    The first execution of a `fit`, which compiles, is excluded: one step, or `steps_per_execution`
    steps. The last execution of an epoch counts in full. Put this callback before
    `TrainingCurves` in the list, so that TensorBoard shows the speed too.

    Args:
        tokens_per_step: batch size x sequence length.

    Example:
    >>> Throughput(tokens_per_step=256 * 128).tokens_per_step
    32768
    """

    def __init__(self, tokens_per_step: int):
        super().__init__()
        self.tokens_per_step = tokens_per_step

    def __repr__(self):
        return f"Throughput({self.tokens_per_step})"

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._started = None

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._steps = self._left_out = 0
        self._ended = None
        if self._started is not None:
            self._started = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._steps = batch + 1  # Keras calls it once per execution, with the last step's number
        if self._started is None:
            self._started, self._left_out = time.perf_counter(), self._steps

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._ended = time.perf_counter()  # validation is not training

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        steps = self._steps - self._left_out
        if steps and logs is not None:
            seconds = (self._ended or time.perf_counter()) - self._started
            logs["tokens_per_second"] = self.tokens_per_step * steps / seconds
