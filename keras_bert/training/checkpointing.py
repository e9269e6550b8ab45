"""Checkpoints from which training resumes exactly."""

import io
import itertools
import os
import re
import threading
import warnings
import zipfile
from typing import Any

import keras
import numpy as np

from keras_bert.files.remote import names_in, open_bytes
from keras_bert.files.whole import remove, remove_unfinished, whole_file
from keras_bert.training.divergence import check_loss, check_weights, optimizer_step
from keras_bert.training.processes import check_same, is_chief
from keras_bert.training.strategy import scope_of

_NAME = re.compile(r"step-(\d{10})\.npz")
_KINDS = "kinds"  # the array with the class names of the model and the optimizer


class TrainingCheckpoint(keras.callbacks.Callback):
    """Saves everything that training needs to resume, at the end of every epoch.

    A checkpoint is a file with the weights, the optimizer's state and step, and the dropout seeds.
    PyTorch's own random numbers aren't in it: a resumed run there has other dropout.
    A background thread writes it; it appears when it is complete, with checksums. If several
    processes train together, one writes and all read.

    A run that diverges ends with an error that names the step and the last good checkpoint, at the
    first loss that is NaN or infinite, and before such weights would be saved.

    If the data can start at any step (`pretraining_dataset(start_step=...)`), make the interval
    between saves an epoch: `model.fit(data, steps_per_epoch=interval)`.

    Args:
        folder: a path, used only for this run's checkpoints; local, or any that `tf.io.gfile`
            supports, such as `"gs://bucket/run"`.
        keep: number of latest checkpoints to keep. A kill just after a save may leave one more.

    Example:
    >>> import tempfile
    >>> checkpoint = TrainingCheckpoint(tempfile.mkdtemp(), keep=2)
    >>> checkpoint.latest_step() is None
    True
    """

    def __init__(self, folder: str | os.PathLike, keep: int = 2):
        super().__init__()
        self.folder = str(folder).rstrip("/")
        self.keep = keep
        self._restored = None  # the model that `restore` got, whose later checkpoints may go
        self._writer = None  # a thread
        self._failure = None  # of the writer

    def __repr__(self):
        return f"TrainingCheckpoint({self.folder!r}, keep={self.keep})"

    def latest_step(self) -> int | None:
        """Returns the optimizer step of the newest checkpoint, or None."""
        self.wait()
        return max(self._steps(), default=None)

    def path(self, step: int) -> str:
        """Returns the path of the checkpoint of an optimizer step."""
        return f"{self.folder}/step-{step:010d}.npz"

    def restore(self, model: keras.Model, step: int | None = None) -> int:
        """Restores the state of a compiled model from a checkpoint.

        If the newest checkpoint is damaged, the one before it is restored, with a warning.

        Args:
            model: a compiled model like the one that was saved, on any number of replicas.
            step: step of the checkpoint; by default, the newest. The next save removes later ones.

        Returns:
            The optimizer step to resume from; 0 if there is no checkpoint.

        Raises:
            ValueError: if the checkpoint belongs to another model or optimizer, if no checkpoint is
                undamaged, or if processes that train together find different ones.
        """
        self.wait()
        _build_optimizer(model)
        step, kinds, arrays = self._last_whole(self._steps() if step is None else [step])
        differ = f"Each process must find the same checkpoint in {self.folder}: give a folder that"
        check_same(step, f"{differ} all of them see, such as one on a network disk.", model)
        if arrays is not None:
            _check_fits(model, kinds, arrays, self.path(step))
            with scope_of(model):
                for variable, array in zip(_state(model), arrays, strict=True):
                    variable.assign(keras.ops.cast(array, variable.dtype))
        self._restored = model
        return step

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._check_latest(self.model, optimizer_step(self.model))

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        check_loss(self, logs, self)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.save(self.model)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self.wait()

    def save(self, model: keras.Model, step: int | None = None) -> None:
        """Starts writing a checkpoint of the current state; `wait` returns when it is written.

        Args:
            model: a compiled model.
            step: int, the checkpoint's number; by default the optimizer's, which counts no step
                that overflowed in float16.

        Raises:
            ValueError: if a trainable weight or a number of the optimizer is NaN or infinite;
                earlier checkpoints are kept. Also if the folder has the checkpoint of a later step,
                from which `restore` didn't go back.
        """
        self.wait()
        step = optimizer_step(model) if step is None else step
        self._check_latest(model, step)
        _build_optimizer(model)
        variables = _state(model)
        arrays = [keras.ops.convert_to_numpy(variable) for variable in variables]
        # NumPy files don't support bfloat16; float32 holds its values exactly.
        arrays = [a if a.dtype.kind in "biuf" else np.float32(a) for a in arrays]
        trained = {id(v) for v in (*model.trainable_variables, *model.optimizer.variables)}
        checked = [pair for pair in zip(variables, arrays, strict=True) if id(pair[0]) in trained]
        check_weights(model, self, checked)
        arrays = {f"{number:05d}": array for number, array in enumerate(arrays)}
        arrays[_KINDS] = np.array(_kinds(model))
        if is_chief(model):
            # Not a daemon thread, so that the program waits for it before exiting.
            self._writer = threading.Thread(target=self._write, args=(step, arrays))
            self._writer.start()

    def wait(self) -> None:
        """Returns when the last checkpoint is written; raises the error if writing failed."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _check_latest(self, model, step):
        latest = max(self._steps(), default=0)
        if latest > step and model is not self._restored:
            raise ValueError(
                f"{self.folder} holds a checkpoint of step {latest}, and the model is at step "
                f"{step}. Call restore(model) first, or give this run a folder of its own."
            )

    def _last_whole(self, steps):
        """Reads the last undamaged checkpoint: `(step, kinds, arrays)`, or `(0, None, None)`."""
        while steps:
            step = steps.pop()
            try:
                return step, *self._read(step)
            except Exception as error:  # zipfile raises many kinds: RuntimeError, zlib.error, ...
                reason = f"{type(error).__name__}: {error}"
                damage = f"The checkpoint {self.path(step)} is damaged ({reason})"
                if not steps:
                    raise ValueError(
                        f"{damage}, and there is no earlier one. Remove it to start over."
                    ) from error
                warnings.warn(f"{damage}; training resumes from step {steps[-1]}.", stacklevel=3)
        return 0, None, None

    def _write(self, step, arrays):
        try:
            remove_unfinished(self.folder)
            with whole_file(self.path(step), "wb") as file:
                np.savez(file, **arrays)
            steps = self._steps()
            now = steps.index(step) + 1  # steps after it are those that `restore` went back from
            for other in [*steps[: max(0, now - self.keep)], *steps[now:]]:
                remove(self.path(other))
        except Exception as error:  # raised by the next save, or at the end
            self._failure = error

    def _read(self, step):
        with open_bytes(self.path(step)) as file, zipfile.ZipFile(file) as parts:
            file.seek(-12, 2)  # the number of parts is stored here, at the end of a zip file
            count = int.from_bytes(file.read(2), "little")
            names = [*(f"{number:05d}.npy" for number in range(count - 1)), f"{_KINDS}.npy"]
            if parts.namelist() != names:
                raise ValueError(f"its directory doesn't name its {count} parts as written")
            # Complete parts, because zipfile compares the checksum only at the end of a part.
            arrays = [np.load(io.BytesIO(parts.read(name)), allow_pickle=False) for name in names]
        return arrays.pop().tolist(), arrays

    def _steps(self):
        names = map(_NAME.fullmatch, names_in(self.folder))
        return sorted(int(name[1]) for name in names if name)


def _state(model):
    """Lists the variables of a model and its optimizer, with random seeds, in a fixed order."""
    return [*model.variables, *model.optimizer.variables]


def _build_optimizer(model):
    if not model.optimizer.built:  # a LossScaleOptimizer would add variables again
        with scope_of(model):
            model.optimizer.build(model.trainable_variables)


def _kinds(model):
    return [type(model).__name__, type(model.optimizer).__name__]


def _check_fits(model, kinds, arrays, path):
    here = [*_kinds(model), *(tuple(variable.shape) for variable in _state(model))]
    there = [*kinds, *(array.shape for array in arrays)]
    for is_, was in itertools.zip_longest(here, there):
        if is_ != was:
            raise ValueError(
                f"The checkpoint {path} can't be restored into this model: it has {was} where this "
                f"model has {is_}. It was written by a run with other settings: use those, or give "
                "this run a folder of its own."
            )
