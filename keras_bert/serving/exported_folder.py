"""The backend that all exported formats need, and their folder, which is whole or absent."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.files.whole import whole_folder


def check_backend(model: keras.Model, exported: str) -> None:
    """Checks that Keras runs on TensorFlow, whose graph all formats are made from.

    Args:
        model: the model to export.
        exported: the format's name with its article, for the message.

    Raises:
        ValueError: if Keras runs on another backend.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"Exporting {exported} requires TensorFlow; Keras runs on {keras.backend.backend()} "
            "here. Save the model with save_to_preset(folder). Then run "
            f"{type(model).__name__}.from_preset(folder).export(...) in a process with "
            "KERAS_BACKEND=tensorflow."
        )


@contextmanager
def exported_folder(
    target: str | os.PathLike, check: Callable[[list[str]], None] | None = None
) -> Iterator[Path]:
    """Gives an empty local folder that becomes `target` if the block ends without an error.

    Args:
        target: a path, on disk or wherever `tf.io.gfile` writes.
        check: as of `whole_folder`.

    Raises:
        OSError: if the folder can't be written; nothing half-written is left.
    """
    try:
        with whole_folder(target, check) as folder:
            yield folder
    except (OSError, tf.errors.OpError) as error:
        raise OSError(
            f"{target} can't be written, and no part of it was kept: {error}. Free some space or "
            "choose another path, and export again."
        ) from error
