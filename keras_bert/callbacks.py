"""Keras callbacks that add speed and perplexity to the logs."""

import math
import time

import keras

from keras_bert.messages import check_int

__all__ = ["Perplexity", "Throughput"]


class Perplexity(keras.callbacks.Callback):
    """Adds the perplexity of each masked-LM loss to an epoch's logs: `e` to the loss.

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
        logs = {} if logs is None else logs
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

    async_safe = True  # Keras needn't wait for each step on a device, where the backend allows it

    def __init__(self, tokens_per_step: int):
        super().__init__()
        check_int("tokens_per_step", tokens_per_step)
        self.tokens_per_step = tokens_per_step

    def __repr__(self):
        return f"Throughput({self.tokens_per_step})"

    def on_train_begin(self, logs=None):
        self._is_first = True

    def on_epoch_begin(self, epoch, logs=None):
        self._ends = [] if self._is_first else [(0, time.perf_counter())]  # of executions
        self._is_first = False

    def on_train_batch_end(self, batch, logs=None):
        # Keras counts an execution at the end of an epoch as a whole one.
        steps = min(batch + 1, (self.params or {}).get("steps") or math.inf)
        self._ends.append((steps, time.perf_counter()))

    def on_epoch_end(self, epoch, logs=None):
        first, start = min(self._ends, default=(0, 0.0))
        last, end = max(self._ends, default=(0, 0.0))
        if last > first and logs is not None:
            logs["tokens_per_second"] = self.tokens_per_step * (last - first) / (end - start)
