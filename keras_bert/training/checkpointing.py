"""Checkpoints from which training resumes exactly."""

import io
import itertools
import os
import re
import threading
import warnings
import zipfile

import keras
import numpy as np

from keras_bert.files.given import check_stored
from keras_bert.files.remote import names_in, open_bytes
from keras_bert.files.whole import remove, remove_unfinished, whole_file
from keras_bert.messages import check_int, check_path
from keras_bert.training.divergence import DivergenceStop, check_weights, optimizer_step
from keras_bert.training.processes import check_same, is_chief
from keras_bert.training.strategy import scope_of

_NAME = re.compile(r"step-(\d{10})\.npz")
_CLASSES = "kinds"  # the array with the class names of the model and the optimizer


class TrainingCheckpoint(DivergenceStop):
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
        super().__init__(self)
        check_path("folder", folder)
        check_int("keep", keep)
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
        steps = self._steps() if step is None else [step]
        step, class_names, arrays = self._read_last_undamaged(steps)
        differ = f"Each process must find the same checkpoint in {self.folder}: give a folder that"
        check_same(step, f"{differ} all of them see, such as one on a network disk.", model)
        if arrays is not None:
            _check_fits(model, class_names, arrays, self.path(step))
            with scope_of(model):
                for variable, array in zip(_state(model), arrays, strict=True):
                    variable.assign(keras.ops.cast(array, variable.dtype))
        self._restored = model
        return step

    def on_train_begin(self, logs=None):
        self._check_latest(self.model, optimizer_step(self.model))

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch)
        self.save(self.model)

    def on_train_end(self, logs=None):
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
        trained = {id(v) for v in model.trainable_variables + model.optimizer.variables}
        arrays = {}
        checked = []
        for index, variable in enumerate(_state(model)):
            array = keras.ops.convert_to_numpy(variable)
            if array.dtype.kind not in "biuf":
                array = np.float32(array)  # NumPy files don't support bfloat16
            arrays[f"{index:05d}"] = array
            if id(variable) in trained:
                checked.append((variable, array))
        check_weights(model, self, checked)
        arrays[_CLASSES] = np.array(_class_names(model))
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
            failure = self._failure
            self._failure = None
            raise failure

    def _check_latest(self, model, step):
        latest = max(self._steps(), default=0)
        if latest > step and model is not self._restored:
            raise ValueError(
                f"{self.folder} holds a checkpoint of step {latest}, and the model is at step "
                f"{step}. Call restore(model) first, or give this run a folder of its own."
            )

    def _read_last_undamaged(self, steps):
        """Returns `(step, class names, arrays)`, or `(0, None, None)` without a checkpoint."""
        while steps:
            step = steps.pop()
            try:
                class_names, arrays = self._read(step)
                return step, class_names, arrays
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
            earlier = [other for other in self._steps() if other <= step]
            later = [other for other in self._steps() if other > step]  # before a `restore`
            for other in earlier[: -self.keep] + later:
                remove(self.path(other))
        except Exception as error:  # raised by the next save, or at the end
            self._failure = error

    def _read(self, step):
        with open_bytes(self.path(step)) as file, zipfile.ZipFile(file) as archive:
            check_stored(archive)
            file.seek(-12, 2)  # the number of members is stored here, at the end of a zip file
            count = int.from_bytes(file.read(2), "little")
            names = [f"{index:05d}.npy" for index in range(count - 1)] + [f"{_CLASSES}.npy"]
            if archive.namelist() != names:
                raise ValueError(f"its directory doesn't name its {count} parts as written")
            arrays = []
            for name in names:
                content = archive.read(name)  # all of it: zipfile compares the checksum at its end
                arrays.append(np.load(io.BytesIO(content), allow_pickle=False))
        class_names = arrays.pop().tolist()
        return class_names, arrays

    def _steps(self):
        matches = map(_NAME.fullmatch, names_in(self.folder))
        return sorted(int(match[1]) for match in matches if match)


def _state(model):
    """Lists the variables of a model and its optimizer, with random seeds, in a fixed order."""
    return [*model.variables, *model.optimizer.variables]


def _build_optimizer(model):
    if not model.optimizer.built:  # a LossScaleOptimizer would add variables again
        with scope_of(model):
            model.optimizer.build(model.trainable_variables)


def _class_names(model):
    return [type(model).__name__, type(model.optimizer).__name__]


def _check_fits(model, class_names, arrays, path):
    expected = _class_names(model) + [tuple(variable.shape) for variable in _state(model)]
    stored = class_names + [array.shape for array in arrays]
    for ours, theirs in itertools.zip_longest(expected, stored):
        if ours != theirs:
            raise ValueError(
                f"The checkpoint {path} can't be restored into this model: it has {theirs} where "
                f"this model has {ours}. It was written by a run with other settings: use those, "
                "or give this run a folder of its own."
            )
