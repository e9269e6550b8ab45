"""Keras callbacks that add speed and perplexity to the logs."""

import math
import time

import keras

from keras_bert.messages import check_int

__all__ = ["Perplexity", "Throughput"]


class Perplexity(keras.callbacks.Callback):
    """Adds the perplexity of each masked-LM loss to the logs of an epoch: `e` to its power.

    `masked_lm_loss` gives `masked_lm_perplexity`, and that of `validation_data`
    `val_masked_lm_perplexity`. In the list of callbacks it comes before
    `keras.callbacks.TensorBoard`, which shows the logs.

    Example:
    >>> logs = {"val_masked_lm_loss": 0.0}
    >>> Perplexity().on_epoch_end(0, logs)
    >>> logs["val_masked_lm_perplexity"]
    1.0
    """

    def __repr__(self):
        return "Perplexity()"

    def on_epoch_end(self, epoch, logs=None):
        for prefix in ("", "val_"):
            # A model without next sentence prediction has one loss.
            names = (f"{prefix}masked_lm_loss", f"{prefix}loss")
            loss = next((logs[name] for name in names if name in logs), None)
            if loss is not None:
                logs[f"{prefix}masked_lm_perplexity"] = math.exp(min(float(loss), 700.0))


class Throughput(keras.callbacks.Callback):
    """Adds `tokens_per_second` to the logs of each epoch; padding counts as tokens.

    The first execution of a `fit`, which compiles, is excluded: one step, or `steps_per_execution`
    steps. In the list of callbacks it comes before `keras.callbacks.TensorBoard`.

    Args:
        tokens_per_step: batch size x sequence length.

    Example:
    >>> Throughput(tokens_per_step=256 * 128).tokens_per_step
    32768
    """

    def __init__(self, tokens_per_step: int):
        super().__init__()
        check_int("tokens_per_step", tokens_per_step)
        self.tokens_per_step = tokens_per_step

    def __repr__(self):
        return f"Throughput({self.tokens_per_step})"

    def on_train_begin(self, logs=None):
        self._started = None

    def on_epoch_begin(self, epoch, logs=None):
        self._steps = self._left_out = 0
        self._ended = None
        if self._started is not None:
            self._started = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        # Keras counts an execution at the end of an epoch as a whole one.
        self._steps = min(batch + 1, (self.params or {}).get("steps") or math.inf)
        if self._started is None:
            self._started = time.perf_counter()
            self._left_out = self._steps

    def on_test_begin(self, logs=None):
        self._ended = time.perf_counter()  # validation is not training

    def on_epoch_end(self, epoch, logs=None):
        steps = self._steps - self._left_out
        if steps and logs is not None:
            seconds = (self._ended or time.perf_counter()) - self._started
            logs["tokens_per_second"] = self.tokens_per_step * steps / seconds
