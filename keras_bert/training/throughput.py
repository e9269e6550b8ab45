"""How fast training goes."""

import time

import keras


class Throughput(keras.callbacks.Callback):
    """Adds `tokens_per_second` to the logs of each epoch, padding counted as tokens.

    The first step of a `fit`, which compiles, is left out. Put it before
    `keras.callbacks.TensorBoard` in the list of callbacks, so that it is logged there too.

    Args:
        tokens_per_step: int, batch size x sequence length.

    Example:
    >>> Throughput(tokens_per_step=256 * 128).tokens_per_step
    32768
    """

    def __init__(self, tokens_per_step):
        super().__init__()
        self.tokens_per_step = tokens_per_step

    def on_train_begin(self, logs=None):
        self._started = None
        self._steps = 0

    def on_epoch_begin(self, epoch, logs=None):
        if self._started is not None:
            self._started, self._steps = time.perf_counter(), 0

    def on_train_batch_end(self, batch, logs=None):
        if self._started is None:
            self._started = time.perf_counter()
        else:
            self._steps += 1

    def on_epoch_end(self, epoch, logs=None):
        seconds = time.perf_counter() - self._started
        if self._steps and logs is not None:
            logs["tokens_per_second"] = self.tokens_per_step * self._steps / seconds
