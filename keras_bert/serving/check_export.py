"""Checks of an export that need no TensorFlow, before any work."""

import os
from pathlib import Path

import keras

from keras_bert.messages import check_path

_FORMATS = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino"}


def check_folder(filepath: str | os.PathLike) -> None:
    """Raises a ValueError if a path is that of a file: exports are folders."""
    check_path("filepath", filepath)
    path = Path(filepath)
    format = _FORMATS.get(path.suffix)
    if format is not None:
        raise ValueError(
            f"filepath is the export's folder; got {str(path)!r}. Write export("
            f"{str(path.with_suffix(''))!r}, format={format!r})."
        )
    if path.is_file():
        raise ValueError(f"filepath is the export's folder; {path} is a file. Give another name.")


def check_backend(model: keras.Model, format: str) -> None:
    """Raises a ValueError unless Keras runs on TensorFlow, from whose graph formats are made."""
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"Exporting format={format!r} requires TensorFlow; Keras runs on "
            f"{keras.backend.backend()} here. Save the model with save_to_preset(folder), then run "
            f"{type(model).__name__}.from_preset(folder).export(...) with KERAS_BACKEND=tensorflow."
        )
