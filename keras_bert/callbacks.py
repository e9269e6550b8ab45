"""Keras callbacks: logs of speed and perplexity, curves for TensorBoard."""

import contextlib
import math
import numbers
import os
import re
import socket
import time
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_int, check_path, missing
from keras_bert.training.divergence import optimizer_step
from keras_bert.training.keras_internals import learning_rate_at, output_losses
from keras_bert.training.processes import is_chief

__all__ = ["Perplexity", "Throughput", "TrainingCurves"]
_FLUSH_SECONDS = 120  # between writes to the disk, which a bucket takes long for


class Perplexity(keras.callbacks.Callback):
    """Adds the perplexity of each masked-LM loss to the logs of an epoch: `e` to its power.

    `masked_lm_loss` gives `masked_lm_perplexity`, and that of `validation_data`
    `val_masked_lm_perplexity`. Put this callback before `TrainingCurves` in the list.

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
    steps. Put this callback before `TrainingCurves` in the list, so that TensorBoard shows it too.

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
        self._steps = _steps_done(self, batch)
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


def _steps_done(callback, batch):
    """Returns the steps of this epoch; Keras counts an execution at its end as a whole one."""
    return min(batch + 1, (callback.params or {}).get("steps") or math.inf)


class TrainingCurves(keras.callbacks.Callback):
    """Writes what `fit` logs to TensorBoard, as one curve over the steps of the optimizer.

    All points of a run lie on one axis, the optimizer's step. A run that was killed resumes its
    curves: readers discard points after the checkpoint. A fit whose optimizer starts at step 0
    again replaces the curves. TensorFlow isn't needed.

    The names are those of the logs, such as `loss`, `masked_lm_accuracy` and `learning_rate`. A
    point of a mean is the mean over what came since the point before. Other logs of an epoch, such
    as `tokens_per_second` and `validation/loss`, have a point at its end.

    Put this callback after those that add logs, such as `Throughput`, and before
    `TrainingCheckpoint`, so that no checkpoint is ahead of its curves. If several processes train
    together, the first writes.

    Curves that can't be written, on a full disk or without the package tensorboard, end with a
    warning; the next `fit` tries again.

    Args:
        folder: a path, for the curves of one run alone; local, or any that TensorBoard knows, such
            as `"gs://bucket/run/logs"`.
        every: int, the optimizer steps between points. The last step of an epoch has one too.

    Raises:
        ValueError: if `every` is below 1.

    Example:
    >>> import tempfile
    >>> import numpy as np
    >>> curves = TrainingCurves(tempfile.mkdtemp(), every=1)
    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile(loss="mse")
    >>> _ = model.fit(np.ones((4, 2)), np.ones(4), verbose=0, callbacks=[curves])
    >>> curves.write(1, {"dev/accuracy": 0.5})
    """

    def __init__(self, folder: str | os.PathLike, every: int = 10):
        super().__init__()
        check_path("folder", folder)
        check_int("every", every)
        self.folder = str(folder)
        self.every = every
        self._file = None  # opened by the first event
        self._done = self._written = 0
        self._is_writing = True

    def __repr__(self):
        return f"TrainingCurves({self.folder!r}, every={self.every})"

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        """Adds a point at an optimizer step to curves, by name, and writes all so far to the disk.

        Values that aren't numbers, such as dicts, are left out.
        """
        self._add(step, values)
        self._write()

    def on_train_begin(self, logs=None):
        model = self.model
        self._is_writing = is_chief(model)
        self._means = None  # metrics are built by the first step
        # TensorBoard drops all points from this step on: those of a run that was killed.
        self._add(optimizer_step(model) + 1, {}, is_start=True)

    def on_epoch_begin(self, epoch, logs=None):
        self._first = optimizer_step(self.model)
        self._parts = self.model.optimizer.gradient_accumulation_steps or 1
        self._done = self._written = 0  # batches of this epoch
        self._sums = {}
        self._logs = {}

    def on_train_batch_end(self, batch, logs=None):
        last = self._step() // self.every
        self._done = _steps_done(self, batch)
        self._logs = dict(logs or {})
        if self._step() // self.every > last:
            self._add_point()

    def on_test_begin(self, logs=None):
        if self._done > self._written:  # validation counts rows from 0 again
            self._add_point()

    def on_epoch_end(self, epoch, logs=None):
        self.on_test_begin()
        others = {}
        for name, value in (logs or {}).items():
            if name not in self._logs:
                others[re.sub("^val_", "validation/", name)] = value
        self._add(self._step(), others)
        self._write()

    def on_train_end(self, logs=None):
        self._write()

    def _step(self):
        return self._first + self._done // self._parts

    def _add_point(self):
        """Adds a point of every log of a batch: the mean since the last point, of means."""
        model = self.model
        if self._means is None:
            self._means = _running_means(model)
        values = dict(self._logs)
        for name in self._means.keys() & values.keys():
            sums = np.array([*map(keras.ops.convert_to_numpy, self._means[name].variables)])
            total, count = sums - self._sums.get(name, 0.0)
            self._sums[name] = sums
            values[name] = total / count if count else 0.0
        for _, weight, mean in output_losses(model):
            values["loss"] += weight * values[mean.name]
        values["learning_rate"] = learning_rate_at(model.optimizer, self._step())
        self._written = self._done
        self._add(self._step(), values)

    def _add(self, step, values, is_start=False):
        values = {n: float(v) for n, v in values.items() if isinstance(v, numbers.Real)}
        if not self._is_writing or not (values or is_start):
            return
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
        except ModuleNotFoundError:  # comes with TensorFlow, or an extra
            return self._end(missing("tensorboard", "plots"))
        event = event_pb2.Event(wall_time=time.time(), step=step)
        if is_start:
            event.session_log.status = event_pb2.SessionLog.START
        for name, value in values.items():
            event.summary.value.append(summary_pb2.Summary.Value(tag=name, simple_value=value))
        self._write(event)

    def _write(self, event=None):
        """Writes an event, or to the disk what earlier ones left in memory."""
        if not self._is_writing:
            return
        try:
            self._file = self._file or _EventFile(self.folder)
            self._file.flush() if event is None else self._file.write(event)
        except Exception as error:  # of any file system; a log ends no training
            self._end(error)

    def _end(self, error):
        self._is_writing = False
        self._file = None
        warnings.warn(
            f"{self.folder}: the curves of this run end here, because they can't be written: "
            f"{str(error).removesuffix('.')}. Training goes on.",
            stacklevel=3,
        )


def _running_means(model):
    """Returns the means over an epoch, by the names of their logs."""
    means = {}
    for metric in model.metrics:
        named = [(metric.name, metric)]
        if hasattr(metric, "metrics"):  # those of `compile`
            named = zip(metric.result(), metric.metrics, strict=True)
        means |= {name: each for name, each in named if isinstance(each, keras.metrics.Mean)}
    return means


class _EventFile:
    """A file of TensorBoard's events; those of a folder are read in the order of their names."""

    def __init__(self, folder):
        from tensorboard.compat import tf
        from tensorboard.compat.proto import event_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        name = f"events.out.tfevents.{time.time():.9f}.{socket.gethostname()}.{os.getpid()}"
        tf.io.gfile.makedirs(folder)
        file = tf.io.gfile.GFile(os.path.join(folder, name), "wb")
        weakref.finalize(self, _close, file)  # after an error in `fit` too
        self._records = RecordWriter(file)
        self._flushed = 0.0
        self.write(event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2"))

    def write(self, event):
        self._records.write(event.SerializeToString())
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self.flush()

    def flush(self):
        self._records.flush()
        self._flushed = time.monotonic()


def _close(file):
    with contextlib.suppress(Exception):  # a full disk has been told
        file.close()
